"""Rivals as real programs: built, loaded with workload W, asked, compared, timed.

    python -m bench.rivals [--quick] [--only NAME,NAME] [--json] [--save [FILE]]

OpenFGA, SpiceDB, OPA, Cedar and Casbin beside lakewarden, embedded and served. `rows` is the table
of what is measured, `world` writes W for their drivers (`go/`, `cedar/`), `build` makes them,
`servers` runs them, `compare` holds their answers against the truth, `page` writes docs/rivals.md.
"""
