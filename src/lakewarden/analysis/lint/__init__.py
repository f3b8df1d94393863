"""The policy advisor: what is odd, useless or dangerous in what a realm stores.

`lint_context` is what rules look at, `privilege_meaning` what a model says about its privileges,
`rules` holds them by topic, `catalogue` finds them, `run` asks them, `sarif` writes what they find.
A rule never changes anything and decides nothing; what its findings say, the model says.
"""
