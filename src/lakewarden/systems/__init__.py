"""The governed systems, a folder for each; `system.py` in it declares what it has.

Systems do not know each other, and nothing outside imports them: `lakewarden.registry` finds them.
"""
