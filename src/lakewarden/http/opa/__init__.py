"""Engines that use the protocol of Open Policy Agent: Trino's access control, and Polaris.

Source: trinodb/trino, `docs/src/main/sphinx/security/opa-access-control.md` at 0d5f25017969, and
requests recorded from Trino 476; apache/polaris, `extensions/auth/opa` at 4b4218638308.
What an operation requires is in `lakewarden.engines`.
"""
