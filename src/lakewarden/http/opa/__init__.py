"""Engines that ask by the protocol of Open Policy Agent: Trino's access control.

Source: trinodb/trino, `docs/src/main/sphinx/security/opa-access-control.md` at 0d5f25017969, and
requests recorded from Trino 476. What an operation requires is in `lakewarden.engines`.
"""
