"""Questions about policy as a whole; pure: snapshots in, tables out."""
