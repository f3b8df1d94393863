"""Commits a version of Parquet files also as tables of Iceberg, of Delta, or of DuckDB.

The version and its manifest stay the source of truth. The tables follow them, and the next run
repairs what an interrupted run did not commit.
"""
