"""File access of the pipeline: all reads and writes go through this package."""
