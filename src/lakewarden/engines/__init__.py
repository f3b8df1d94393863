"""Engines that request decisions, and what their acts (operations) require in each model.

An engine's acts are in a file here (`trino.toml`), read by `engine`. Their requirements are in
a file of each system (`systems/NAME/engines/trino.toml`), read by `mapping`: rules in the model's
language, which become operations of the model, and are decided, listed and explained like
all others.
"""
