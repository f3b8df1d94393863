"""The access index of an ingested directory: which entities lie in which scope, at any size."""
