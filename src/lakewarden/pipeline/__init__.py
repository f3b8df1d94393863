"""Batch questions over whole estates, as Spark jobs. The only room that may import PySpark."""
