"""Worlds, scenarios and their runner: shipped for use in tests, benches and by users."""
