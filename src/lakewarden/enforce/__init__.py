"""Tables read in Python within the limits of a realm: DuckDB applies its filters and masks.

guard      tables and queries for users
denied     the error of a denied read
realms     the deciding realm: in a store opened here, or on a server
sources    the rows of a table
duckdb_sql the connections that read rows, and that run queries of users
"""

from lakewarden.enforce.denied import ReadDenied
from lakewarden.enforce.guard import Guard

__all__ = ["Guard", "ReadDenied"]
