"""The policy advisor: what is odd, useless or dangerous in what a realm stores.

`estate` is what rules look at, `meaning` what a model says about its privileges, `rules` holds
one module for each rule, `catalogue` lists them, `run` asks them, `sarif` writes what they found.
A rule never changes anything and decides nothing; what its findings say, the model says.
"""
