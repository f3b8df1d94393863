"""The residue of a rule: simplified, identical in every process, and distinguishable."""

from __future__ import annotations

from lakewarden.pipeline.review.residue import (
    EVERYBODY,
    NOBODY,
    Admins,
    Any,
    Compared,
    Free,
    Given,
    Itself,
    One,
    Owned,
    Owners,
    Residue,
    Residues,
    read,
)

READ = Given("READ", ("a",))
WRITE = Given("WRITE", ("b",))


def test_what_nobody_meets_and_what_everybody_meets_say_all() -> None:
    residues = Residues()
    given = residues.number(READ)
    assert residues.all_of([given, NOBODY]) == NOBODY
    assert residues.all_of([given, EVERYBODY]) == given
    assert residues.any_of([given, EVERYBODY]) == EVERYBODY
    assert residues.any_of([given, NOBODY]) == given
    assert residues.all_of([]) == EVERYBODY
    assert residues.any_of([]) == NOBODY


def test_statements_about_one_privilege_are_one_residue() -> None:
    residues = Residues()
    more = residues.number(Given("READ", ("c",)))
    both = residues.any_of([residues.number(READ), more])
    assert residues[both] == Given("READ", ("a", "c"))
    denied = [residues.number(Free("READ", (id,))) for id in "xy"]
    assert residues[residues.all_of(denied)] == Free("READ", ("x", "y"))


def test_what_is_needed_anyway_is_not_said_twice() -> None:
    residues = Residues()
    read_, write = residues.number(READ), residues.number(WRITE)
    both, either = residues.all_of([read_, write]), residues.any_of([read_, write])
    assert residues.any_of([read_, both]) == read_
    assert residues.all_of([read_, either]) == read_
    assert residues.any_of([residues.any_of([write, read_]), write]) == either


def test_the_order_in_which_parts_are_met_makes_no_difference() -> None:
    atoms: list[Residue] = [READ, WRITE, Admins(), Owned(("schema",), None), Free("READ", ("z",))]
    one, other = Residues(), Residues()
    for atom in reversed(atoms):
        other.number(atom)
    digests = [
        found.digest(
            found.all_of(
                [
                    found.any_of(found.number(atom) for atom in atoms[:3]),
                    found.any_of(found.number(atom) for atom in atoms[3:]),
                ]
            )
        )
        for found in (one, other)
    ]
    assert digests[0] == digests[1]
    assert len(digests[0]) == 16


def test_residues_are_read_as_they_were_written() -> None:
    residues = Residues()
    atoms: tuple[Residue, ...] = (
        *(READ, Free("WRITE", ("n", "ä"))),
        *(Owned((), ("", "x"), ("s",)), Owned(("schema",), None), Itself((), exactly=True)),
        *(Owners(("tag",), None, (), (3, 5)), One(("tag",), exactly=False, principal=-1)),
        *(Admins(), Compared("subject.team", "in", ("low", 1, True))),
    )
    numbers = [residues.number(atom) for atom in atoms]
    whole = residues.all_of([residues.any_of(numbers[:4]), residues.any_of(numbers[4:])])
    texts = {residues.digest(n): residues.text(n) for n in residues.within(whole)}
    found, known = read(texts)
    copy = known[residues.digest(whole)]
    assert found.digest(copy) == residues.digest(whole)
    assert found.leaves(copy) == residues.leaves(whole) == frozenset(atoms)


def test_a_class_does_not_say_who_owns_what_a_relation_leads_to() -> None:
    residues = Residues()
    parts = [Owners(("tag",), None, (), (n,)) for n in (3, 5)]
    both = [residues.any_of([residues.number(READ), residues.number(part)]) for part in parts]
    assert both[0] != both[1]
    assert residues.plain(both[0]) == residues.plain(both[1])
    assert residues[residues.plain(both[0])] == Any(
        (residues.number(READ), residues.number(Owned(("tag",), None)))
    )
    assert residues.is_own(both[0])
    assert not residues.is_own(residues.number(READ))
    named = residues.number(One((), exactly=True, principal=4))
    assert residues[residues.plain(named)] == Itself((), exactly=True)
