"""What must hold when processes die, the database goes away, and many write at once."""
