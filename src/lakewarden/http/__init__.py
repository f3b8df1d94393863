"""What all dialects share, and the two dialects of no system: AuthZEN, and our own API."""
