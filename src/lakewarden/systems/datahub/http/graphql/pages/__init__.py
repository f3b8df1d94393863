"""Entities as their pages show them: what their aspects say, read when a field asks for it."""
