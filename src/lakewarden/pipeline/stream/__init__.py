"""Keeps an access index up to date with the change feed, by micro-batch."""
