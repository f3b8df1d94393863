"""Left-out access is counted exactly, regardless of its amount."""

from __future__ import annotations

from lakewarden.service.residue import MOST, Residue, Residues


def test_each_thing_is_counted_once_beyond_what_is_listed() -> None:
    residues, entities = Residues(), [f"table:t{number}" for number in range(MOST // 2 + 1)]
    for _ in range(2):
        for why in ("absent", "denied"):
            for principal in ("user:ana", "user:bo"):
                for entity in entities:
                    residues.add(Residue(why, entity, principal, access="SELECT"))
    assert residues.count == 4 * len(entities)
    listed = list(residues)
    assert len({*listed}) == MOST
    assert listed == sorted(listed)
    residues.add(Residue("absent", entities[0], "user:ana", access="INSERT"))
    residues.add(Residue("absent", entities[0], "user:ana", "statement", "SELECT"))
    residues.add(Residue("absent", principal="user:ana", access="SELECT"))
    assert residues.count == 4 * len(entities) + 3
