"""The bodies of our own API: what a client sends and what it gets, as types.

Parsing refuses undeclared members; `openapi.json` is generated from these types. Entities are
written `type:name` or as a URN, principals `kind:name`, times as RFC 3339.
"""
