"""Exports of other catalogs as catalogs of a metalake: one mapping file for each source."""
