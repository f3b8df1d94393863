"""Entities as their pages show them: their aspects, read on demand."""
