"""Reads metadata of other systems into the rows of `lakewarden.kernel.relations`."""
