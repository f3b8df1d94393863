"""Benches: each builds its world, compares every answer with the truth, then measures times."""
