"""What all dialects share, and the two that belong to no system: AuthZEN, and our own."""
