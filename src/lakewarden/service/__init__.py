"""Use cases and the interfaces they need, one file each; no edge libraries here."""
