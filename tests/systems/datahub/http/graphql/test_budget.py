"""Each budget of a document, at its limit and one beyond."""

from __future__ import annotations

import pytest

from lakewarden.kernel.entity import Entity
from lakewarden.service.actor import SYSTEM
from lakewarden.service.write_transaction import WriteTransaction
from lakewarden.systems.datahub.http.graphql import budget
from lakewarden.systems.datahub.use_cases import aspects
from lakewarden.systems.datahub.use_cases.aspects import Write
from tests.systems.datahub.http.graphql.wire import REALM, Wire

REFUSED = "are not allowed"


def deep(levels: int) -> str:
    """Relationships of relationships; a pair of fields is two levels."""
    edges = "relationships(input: {types: [], direction: OUTGOING})"
    pairs, rest = divmod(levels - 1, 3)
    inner = "__typename" if rest == 0 else "urn"
    text = {0: "", 1: inner, 2: f"{edges} {{ total }}"}[rest] or "urn"
    if rest == 0:
        pairs, text = pairs - 1, f"{edges} {{ relationships {{ type }} }}"
    for _ in range(pairs):
        text = f"{edges} {{ relationships {{ entity {{ ... on CorpUser {{ {text} }} }} }} }}"
    return f'{{ corpUser(urn: "urn:li:corpuser:ana") {{ {text} }} }}'


ROOTS = (
    *("application", "assertion", "container", "corpGroup", "dataPlatform", "dataProduct"),
    *("dataHubRole", "document", "domain", "glossaryNode", "glossaryTerm", "incident"),
    *("role", "structuredProperty", "tag", "businessAttribute"),
)
"""Root fields whose URNs have one part."""


def fields(count: int) -> str:
    """Fields in several selections: in a single one, validation would compare all pairs."""
    each, rest = divmod(count - len(ROOTS), len(ROOTS))
    texts = [
        f'{root}(urn: "urn:li:{root}:x") {{ {"__typename " * (each + (number < rest))}}}'
        for number, root in enumerate(ROOTS)
    ]
    return "{ " + " ".join(texts) + " }"


def aliases(count: int) -> str:
    return "{ " + " ".join(f"a{n}: __typename" for n in range(count)) + " }"


def spreads(count: int) -> str:
    return "{ " + "...f " * count + "} fragment f on Query { __typename }"


def nested_spreads(count: int) -> str:
    """Spreads of a fragment that spreads another, which counts each time it is spread."""
    return (
        "{ " + "...f " * (count - 1) + "}"
        " fragment f on Query { ...g } fragment g on Query { __typename }"
    )


def directives(count: int) -> str:
    return "{ " + "__typename @skip(if: false) " * count + "}"


@pytest.mark.parametrize(
    ("made", "limit"),
    [
        (deep, 24),
        (fields, 2_000),
        (aliases, 50),
        (spreads, 400),
        (nested_spreads, 400),
        (directives, 20),
    ],
)
def test_a_budget_may_be_used_up_and_not_exceeded(wire: Wire, made: object, limit: int) -> None:
    assert callable(made)
    assert "errors" not in wire.ask(made(limit))
    (error,) = wire.ask(made(limit + 1))["errors"]
    assert error["extensions"]["code"] == 400
    assert REFUSED in error["message"]


def test_fragments_count_as_often_as_they_are_spread(
    wire: Wire, monkeypatch: pytest.MonkeyPatch
) -> None:
    fragment = " fragment f on Query { " + "__typename " * 50 + "}"
    limits = (*budget._LIMITS[:-1], ("whole", 2_000, "fields with their fragments"))
    monkeypatch.setattr(budget, "_LIMITS", limits)
    assert "errors" not in wire.ask("{ " + "...f " * 40 + "}" + fragment)
    (error,) = wire.ask("{ __typename " + "...f " * 40 + "}" + fragment)["errors"]
    assert REFUSED in error["message"]


def test_an_answer_of_too_many_fields_is_given_up(
    wire: Wire, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Fields are counted when they are resolved: in a list, once per member."""
    monkeypatch.setattr(budget, "MAX_RESOLVED", 22)
    query = "query q($i: ListUsersInput!) { listUsers(input: $i) { users { urn username } } }"
    assert "errors" not in wire.ask(query, i={"count": 4})  # 2 and 4 × 2
    wide = query.replace("urn username", "a: urn b: urn c: urn d: urn e: urn f: urn")
    answer = wire.ask(wide, i={"count": 4})
    assert answer["data"] is None
    (error,) = answer["errors"]
    assert (error["extensions"]["code"], REFUSED in error["message"]) == (400, True)


def test_fragments_that_double_are_refused_at_once(wire: Wire) -> None:
    chain = "".join(f" fragment f{n} on Query {{ ...f{n + 1} ...f{n + 1} }}" for n in range(40))
    answer = wire.ask("{ ...f0 }" + chain + " fragment f40 on Query { __typename }")
    assert REFUSED in answer["errors"][0]["message"]


def test_what_is_not_executed_counts_too(wire: Wire) -> None:
    query = "query a { __typename } query b " + fields(2_000)
    reply = wire.send({"query": query, "operationName": "a"})
    assert REFUSED in reply.body.decode()


def test_lists_within_lists_end_where_too_many_edges_were_shown(wire: Wire) -> None:
    """Members of a group, their groups, and the members of these: quadratic in the members."""
    staff = {"nativeGroups": ["urn:li:corpGroup:staff"]}

    def nested(count: int) -> str:
        edges = "relationships(input: {types: [%s], direction: %s, count: %d}) {"
        types = '"IsMemberOfNativeGroup"'
        down, up = edges % (types, "INCOMING", count), edges % (types, "OUTGOING", count)
        return (
            f'{{ corpGroup(urn: "urn:li:corpGroup:staff") {{ {down} relationships {{ entity {{'
            f" ... on CorpUser {{ {up} relationships {{ entity {{"
            f" ... on CorpGroup {{ {down} relationships {{ type }} }} }} }} }} }} }} }} }} }} }} }}"
        )

    def task(transaction: WriteTransaction) -> None:
        users = (Entity("corpuser", f"urn:li:corpuser:u{n}") for n in range(80))
        writes = [Write(one, "nativeGroupMembership", staff) for one in users]
        aspects.write(transaction, REALM, writes, "urn:li:corpuser:x")

    wire.service.write(SYSTEM, task)
    assert "errors" not in wire.ask(nested(69))  # 69 + 69 + 69 × 69 is 4899
    answer = wire.ask(nested(70))  # 70 + 70 + 70 × 70 is 5040
    assert {error["extensions"]["code"] for error in answer["errors"]} == {400}
    assert REFUSED in answer["errors"][0]["message"]
