"""Meaning: what is stored, what a rule requires, and what follows from both.

Pure: no input or output, no clock, no logging, no threads. Everything above this
package asks; nothing here asks back.
"""
