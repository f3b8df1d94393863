"""Analysis of whole policies; pure: snapshots in, tables out."""
