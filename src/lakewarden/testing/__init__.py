"""Worlds, scenarios and their runner: shipped, so that tests, benches and users share them."""
