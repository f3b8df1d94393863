"""Who can see, read and change what, by name: tables, CSV and a page, from an export."""
