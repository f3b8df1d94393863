"""Search over a realm of entities that have URNs: what fits, of what the asker is shown."""
