"""Engines that ask before they act, and what their acts require in each model.

An engine's acts are a file here (`trino.toml`), read by `engine`. What they require is a file of
each system (`systems/NAME/engines/trino.toml`), read by `mapping`: rules in the model's own
language, which become operations of the model, so that they are decided, listed and explained like
all others.
"""
