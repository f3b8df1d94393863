"""The form of a realm for Apache Ranger: policies and roles, derived from the matrix.

One planner creates both what plugins download (`http.ranger`) and what is pushed to a Ranger admin
(`pushdown.ranger`).
"""
