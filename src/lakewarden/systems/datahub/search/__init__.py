"""Search over a realm whose entities have URNs, among those visible to the caller."""
