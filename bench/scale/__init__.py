"""What an index costs, stage by stage, as a function of what an estate has; and at a billion."""
