"""A small lake for questions about changes."""

from __future__ import annotations

from lakewarden.service.warden import Warden
from lakewarden.testing.world_draft import NOW


def lake() -> Warden:
    """A lake with three tables, in which readers may read one schema."""
    w = Warden("gravitino", clock=lambda: NOW)
    w.add_entities("metalake:lk", "catalog:lk:c", "schema:lk:c.s", "schema:lk:c.p")
    w.add_entities("table:lk:c.s.t", "table:lk:c.s.u", "table:lk:c.p.secret")
    w.add_members("role:lk:readers", "user:ana", "user:ben")
    w.state(id="read", to="role:lk:readers", privileges=["SELECT_TABLE"], on="schema:lk:c.s")
    return w
