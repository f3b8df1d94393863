"""From metadata as others keep it to the rows of `lakewarden.kernel.relations`."""
