"""The policy advisor: what is odd, useless or dangerous in the policy of a realm.

`lint_context` is the input of rules, `privilege_meaning` what a model says about its privileges,
`rules` holds the rules by topic, `catalogue` finds them, `run` runs them, `sarif` writes findings.
A rule never changes or decides anything; the meaning in its findings comes from the model.
"""
