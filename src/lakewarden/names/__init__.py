"""Spellings of identities, one module for each system; pure, and blind to each other."""
