"""Pushdown: what a realm allows becomes roles and grants in a database.

`desired_state` computes the roles that a target should have, `plan` the steps to get there, `drift`
what others changed. One module for each engine reads the current state and executes the plan.
"""
