"""A Spark Connect proxy: plans of users are checked, limited and forwarded to a server.

Fail closed: everything that is not in `permitted.toml` is denied. The gateway limits users of SQL
and DataFrames; code of users never reaches the server.

Source: apache/spark, `sql/connect/common/src/main/protobuf/spark/connect` at v4.3.0.
"""
