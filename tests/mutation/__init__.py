"""Measures how many small faults in the kernel its tests detect: `make mutation`."""
