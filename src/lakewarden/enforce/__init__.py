"""Tables read in Python as a realm allows: its filters and masks applied by DuckDB.

guard      tables and queries for users
denied     the error of a read that is denied
realms     who decides: a store that is open here, or a server
sources    where the rows of a table are
duckdb_sql the connections that read rows, and that run queries of users
"""

from lakewarden.enforce.denied import ReadDenied
from lakewarden.enforce.guard import Guard

__all__ = ["Guard", "ReadDenied"]
