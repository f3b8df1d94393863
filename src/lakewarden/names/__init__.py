"""Spellings of identities, one module for each system; pure and independent of each other."""
