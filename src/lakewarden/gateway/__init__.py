"""A Spark Connect proxy: plans of users are checked, limited and handed on to a server.

Fail closed: what is not in `permitted.toml` is denied. It bounds users of SQL and DataFrames; code
of users never reaches the server.

Source: apache/spark, `sql/connect/common/src/main/protobuf/spark/connect` at v4.3.0.
"""
