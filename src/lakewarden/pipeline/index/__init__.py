"""The access index of an ingested directory: which entity lies in which scope, at any size."""
