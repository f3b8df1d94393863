"""How many small faults of the kernel its tests notice: `make mutation`."""
