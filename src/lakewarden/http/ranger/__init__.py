"""Engines with a plugin of Apache Ranger, which download policies as if from Ranger's own server.

Source: apache/ranger, `security-admin/src/main/java/org/apache/ranger/rest/ServiceREST.java` and
`RoleREST.java` at 8e7716cd3c36; requests recorded from Trino 476.
What each access opens is in `lakewarden.engines.ranger_service`.
"""
