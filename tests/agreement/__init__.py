"""All ways of deciding must give the same answers."""
