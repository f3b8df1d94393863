"""DataHub's GraphQL: `sdl` has the schema, each module resolves a part of it.

A query never writes. A mutation decides and writes in one transaction, on the newest state; all
resolvers are authorized by `authorization`.
"""
