"""Batch jobs over whole estates, on Spark. The only package that may import PySpark."""
