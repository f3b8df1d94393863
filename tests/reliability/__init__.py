"""Guarantees when processes die, the database is down, and many clients write at once."""
