"""The policy advisor over an index: the same rules, whatever the number of entities."""
