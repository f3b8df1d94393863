"""What Apache Ranger is told of a realm: policies and roles, made from the matrix.

The same planner makes what plugins download (`http.ranger`) and what a Ranger admin is told
(`pushdown.ranger`).
"""
