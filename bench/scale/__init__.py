"""The cost of an index, by stage, as a function of the estate's size; and for a billion."""
