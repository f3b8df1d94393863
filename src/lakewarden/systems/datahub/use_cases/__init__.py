"""Use cases of this system only, beside those that every system has."""
