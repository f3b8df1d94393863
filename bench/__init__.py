"""Benches: each builds its world, compares every answer with the truth, and only then times."""
