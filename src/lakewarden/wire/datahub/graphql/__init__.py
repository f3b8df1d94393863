"""DataHub's GraphQL: the schema is written first (`sdl`), each module resolves a part of it.

A query never writes. A mutation decides and writes in one transaction, on the newest state;
`authorization` is the one place where it is decided whether a resolver may go on.
"""
