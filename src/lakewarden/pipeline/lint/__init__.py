"""The policy advisor over an index: the same rules, for any number of entities."""
