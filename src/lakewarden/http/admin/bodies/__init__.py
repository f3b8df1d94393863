"""The bodies of our own API: what a client sends and what it gets, as types.

Reading refuses members that are not declared; `openapi.json` is written from these types.
Entities are written `type:name` or as a URN, principals `kind:name`, moments as RFC 3339.
"""
