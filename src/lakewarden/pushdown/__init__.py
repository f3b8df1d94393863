"""Systems that are told: what a realm allows becomes roles and grants in a database.

`wanted` says what there should be, `plan` what has to change, `drift` what others changed. One
module for each engine reads what there is and writes what a plan says.
"""
