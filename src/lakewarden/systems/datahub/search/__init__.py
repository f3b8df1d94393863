"""Search over a realm of entities that have URNs, among those visible to the caller."""
