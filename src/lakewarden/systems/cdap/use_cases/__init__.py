"""Use cases that only this system has, in addition to those of every system."""
