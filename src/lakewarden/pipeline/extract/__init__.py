"""Copies a running system, over its own API, to an export that `pipeline.ingest` reads."""
