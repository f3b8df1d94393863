"""Decisions, statements and entities as plain tables, and views that join them exactly."""
