"""The governed systems, one folder each; its `system.py` declares the parts of the system.

Systems do not import each other, and nothing outside imports them: `lakewarden.registry` finds
them.
"""
