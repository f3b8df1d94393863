"""Search, as the schema has it: questions, pages, facets, completion, browsing, lineage."""
