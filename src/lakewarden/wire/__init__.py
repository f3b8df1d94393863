"""The dialects: each foreign contract in its own room, over what an exchange brings."""
