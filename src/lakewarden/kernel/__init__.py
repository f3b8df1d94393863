"""The meaning of a model: the stored facts, what a rule requires, and what follows from both.

Pure: no input or output, no clock, no logging, no threads. Every package above calls this
one; this package calls none of them.
"""
