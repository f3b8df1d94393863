"""Rivals as real programs: built, loaded with workload W, queried, compared, timed.

    python -m bench.rivals [--quick] [--only NAME,NAME] [--json] [--save [FILE]]

OpenFGA, SpiceDB, OPA, Cedar and Casbin compared with lakewarden, embedded and as servers. `rows` is
the table of measurements, `world` writes W for the drivers (`go/`, `cedar/`), `build` builds the
rivals, `servers` runs them, `compare` compares their answers with the truth, and `page` writes
docs/rivals.md.
"""
