"""The access review of an estate: who can do what on which assets, grouped, and through what."""
