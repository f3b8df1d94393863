"""What only this system does, on top of the use cases that every system has."""
