"""Grants without use: compares access logs with an index, and proposes narrower statements."""
