"""The pipeline at estate scale: drawn worlds, its jobs one by one, and what they take."""
