"""A guard in front of an Iceberg REST catalog: a reverse proxy that asks a realm first.

Source: apache/iceberg, `open-api/rest-catalog-open-api.yaml` at 7f879b11366e. What each endpoint
requires is in `lakewarden.engines`.
"""
