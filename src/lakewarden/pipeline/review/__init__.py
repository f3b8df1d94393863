"""The access review of an estate: who can do what on which assets, in groups, and by what."""
