"""The verbs of `lakewarden pipeline`, one module for each."""
