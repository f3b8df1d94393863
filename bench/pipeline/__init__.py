"""Benchmarks of the pipeline at estate scale: generated worlds, and the cost of each job."""
