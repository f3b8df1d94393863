"""The audit trail against an attacker who can write the database, and knows the hash chain.

Each attack uses everything that an attacker has: rows, counter, digests, and own keys.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence

import pytest

from lakewarden.kernel.errors import BadInput
from lakewarden.service.audit import AuditEvent, AuditRow, Head, first_fault, follow
from lakewarden.service.audit_check import (
    LOGGED,
    Anchor,
    Report,
    compare,
    examine,
    read_anchors,
)
from lakewarden.service.audit_seal import UNSEALED, Sealed, Seals

KEY, OTHER, FOREIGN = (
    "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=",
    "BAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=",
    "CAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=",
)
OURS = Seals([KEY])
EVENTS = [
    AuditEvent(float(n), f"user{n}", "table.load", "table:lk:c.s.t", "allow", "allowed", "lake")
    for n in range(8)
]
Rows = list[AuditRow]


def chained(events: Sequence[AuditEvent], seals: Seals = OURS, after: Rows | None = None) -> Rows:
    """The events after other rows, in one write each."""
    rows = list(after or ())
    for event in events:
        head = Head(rows[-1].seq, rows[-1].digest) if rows else Head()
        rows += follow(head, 1, [event], seals)
    return rows


def head_of(rows: Rows) -> Head:
    return Head(rows[-1].seq, rows[-1].digest) if rows else Head()


def anchors_of(rows: Rows, *seqs: int) -> list[Anchor]:
    return [Anchor(100.0, rows[n - 1].seq, rows[n - 1].digest, rows[n - 1].seal) for n in seqs]


def look(rows: Rows, seals: Seals = OURS, anchors: list[Anchor] | None = None) -> Report:
    return examine(rows, head_of(rows), seals, anchors)


TRUE = chained(EVENTS)


def lied(at: int) -> list[AuditEvent]:
    """The events, one of them with another actor."""
    events = list(EVENTS)
    events[at] = AuditEvent(float(at), "eve", "table.load", "t", "allow", "allowed")
    return events


def test_a_sealed_trail_is_whole_and_says_what_it_cannot_exclude() -> None:
    report = look(TRUE)
    assert report == Report(8, None, ("without anchors: rows can have been removed from the end",))
    assert look(TRUE, anchors=anchors_of(TRUE, 3, 8)) == Report(8, None, ())
    assert "rows after 3" in look(TRUE, anchors=anchors_of(TRUE, 3)).doubts[0]
    assert examine([], Head(), OURS, []).fault is None


@pytest.mark.parametrize("at", range(8))
def test_a_row_written_anew_with_all_that_follow_is_found_by_its_seal(at: int) -> None:
    """The chain alone would accept it."""
    kept = [row.seal for row in TRUE]
    for seals in (None, *kept[at : at + 1]):
        rows = chained(lied(at), UNSEALED)
        rows = [
            row._replace(seal=kept[n] if n < at or seals is None else seals)
            for n, row in enumerate(rows)
        ]
        assert first_fault(rows, head_of(rows)) is None
        fault = look(rows).fault
        assert fault is not None
        assert fault.seq == at + 1
        assert "rewritten" in fault.reason


@pytest.mark.parametrize("at", range(8))
def test_a_trail_written_anew_without_seals_or_with_another_key_is_found(at: int) -> None:
    for seals, said in ((UNSEALED, "is not sealed"), (Seals([FOREIGN]), "unknown key")):
        rows = chained(lied(at)[at:], seals, TRUE[:at])
        assert first_fault(rows, head_of(rows)) is None
        report = look(rows)
        if at == 0 and seals is UNSEALED:
            assert report.fault is None
            assert "no row is sealed" in report.doubts[0]
        else:
            assert report.fault is not None
            assert (report.fault.seq, said in report.fault.reason) == (at + 1, True)
        anchored = look(rows, anchors=anchors_of(TRUE, 8))
        assert anchored.fault is not None


Attack = Callable[[Rows], Rows]

CUT: dict[str, tuple[Attack, int]] = {
    "the end": (lambda rows: rows[:5], 6),
    "all of it": (lambda rows: [], 1),
    "the beginning, the rest numbered and chained anew": (lambda rows: chained(EVENTS[2:]), 5),
    "the beginning": (lambda rows: rows[2:], 1),
    "a row, chained anew by whoever has the key": (lambda rows: chained(lied(2)), 5),
}


@pytest.mark.parametrize("what", CUT)
def test_what_was_cut_or_made_with_the_key_itself_is_found_by_anchors(what: str) -> None:
    attack, seq = CUT[what]
    rows = attack(TRUE)
    for seals in (OURS, UNSEALED):
        fault = look(rows, seals, anchors_of(TRUE, 5, 8)).fault
        assert fault is not None
        assert fault.seq == seq
    if what != "the beginning":
        assert look(rows).fault is None, "without anchors it cannot be told"
        found = compare(rows, head_of(rows), anchors_of(TRUE, 5, 8), ())
        assert found.fault is not None
        assert found.fault.seq == seq


def test_a_key_is_changed_and_the_old_one_taken_away() -> None:
    both, new = Seals([OTHER, KEY]), Seals([OTHER])
    rows = chained(EVENTS[4:], both, TRUE[:4])
    for seals in (both, new):
        assert look(rows, seals).fault is None
    assert any("rows 1 to 4 have no seal" in doubt for doubt in look(rows, new).doubts)
    assert not any("rows 1 to 4" in doubt for doubt in look(rows, both).doubts)
    # Rows sealed with the new key vouch for earlier rows, whose key is gone.
    lie = chained(lied(1), UNSEALED)
    lie = [row._replace(seal=old.seal) for row, old in zip(lie, rows, strict=True)]
    assert look(lie, new).fault is not None


def test_rows_from_before_there_were_seals_are_vouched_for_by_the_next_one() -> None:
    rows = chained(EVENTS[5:], OURS, chained(EVENTS[:5], UNSEALED))
    report = look(rows)
    assert report.fault is None
    assert "rows 1 to 5 have no seal" in report.doubts[0]
    assert "no key is configured" in look(rows, UNSEALED).doubts[0]


def test_a_seal_is_of_one_digest_and_one_key() -> None:
    seal = OURS.seal("ab")
    assert OURS.examine("ab", seal) is Sealed.GOOD
    assert OURS.examine("ac", seal) is Sealed.FORGED
    assert OURS.examine("ab", seal[:-1]) is Sealed.FORGED
    assert OURS.examine("ab", seal.partition(":")[0]) is Sealed.FORGED
    assert OURS.examine("ab", f"{OURS.first}:ü") is Sealed.FORGED
    assert Seals([OTHER]).examine("ab", seal) is Sealed.UNKNOWN_KEY
    assert (UNSEALED.seal("ab"), OURS.examine("ab", "")) == ("", Sealed.NOT)
    assert KEY not in repr(OURS)


def test_anchors_are_read_from_a_file_of_them_or_from_the_log() -> None:
    (anchor,) = anchors_of(TRUE, 3)
    logged = {"event": LOGGED, "level": "info", **anchor._asdict()}
    lines = [anchor.line(), "", json.dumps({"event": "request"}), json.dumps(logged)]
    assert read_anchors(lines, "a") == [anchor, anchor]
    later = json.dumps({**anchor._asdict(), "time": 1e300})
    for line in ("x", "[]", "{}", json.dumps({**anchor._asdict(), "seq": "3"}), later):
        with pytest.raises(BadInput, match="a, line 2"):
            read_anchors([anchor.line(), line], "a")
