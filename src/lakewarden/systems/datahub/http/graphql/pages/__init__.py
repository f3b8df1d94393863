"""Entities in the form of their pages: their aspects, read on demand."""
