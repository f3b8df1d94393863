"""A version of Parquet files, committed also as tables of Iceberg, of Delta, or of DuckDB.

The version and its manifest stay the source of truth. What is here follows them, and the next run
repairs what a run that was cut short did not commit.
"""
