"""Search in GraphQL: questions, pages, facets, completion, browsing, lineage."""
