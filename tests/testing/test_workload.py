"""Workload W is drawn bit for bit as published, and the kernel gives the published answers."""

from __future__ import annotations

from collections import Counter

import pytest

from lakewarden.kernel.batch import decide_many
from lakewarden.kernel.entity import Entity
from lakewarden.kernel.matrix import Matrix
from lakewarden.kernel.principal import members_of
from lakewarden.kernel.request import Request
from lakewarden.kernel.snapshot import compile
from lakewarden.kernel.statement import Effect
from lakewarden.service.system import load_system
from lakewarden.testing.workload import (
    ANSWERS_W,
    ANSWERS_W_1M,
    SHA256_W,
    SHA256_W_1M,
    TABLES_W_1M,
    USERS,
    SplitMix64,
    Workload,
    answers_digest,
    draw,
    user,
)


@pytest.fixture(scope="module")
def drawn() -> Workload:
    return draw()


def matrix(drawn: Workload) -> Matrix:
    system = load_system("gravitino")
    return Matrix(compile(drawn.facts(), system.model, system.spelling))


def answers(drawn: Workload, matrix: Matrix) -> list[bool]:
    asked = ((user(u).name, drawn.entity(node).name) for u, node in drawn.queries)
    return [matrix.check(who, "table.load", what, 0.0).allow for who, what in asked]


def test_the_stream_starts_as_splitmix64_does() -> None:
    stream = SplitMix64(1234567)
    assert [stream.next() for _ in range(3)] == [
        6457827717110365317,
        3203168211198807973,
        9817491932198370423,
    ]


def test_distinct_numbers_come_in_the_order_drawn_without_repeats() -> None:
    drawn, again = SplitMix64(7).distinct(20, 25), SplitMix64(7)
    raw = list(dict.fromkeys(again.below(25) for _ in range(500)))
    assert drawn == raw[:20]


def test_w_has_the_published_digest(drawn: Workload) -> None:
    assert drawn.digest() == SHA256_W


def test_w_has_the_published_sizes(drawn: Workload) -> None:
    grants = [grant for role in drawn.grants for grant in role]
    assert drawn.nodes == 101_021
    assert len(drawn.owner) == 5_239
    assert (len(grants), sum(deny for *_, deny in grants)) == (3_000, 278)


def test_nodes_are_numbered_level_by_level_and_named_by_their_place(drawn: Workload) -> None:
    nodes = (0, 20, 21, 1_020, 1_021, 101_020)
    assert [drawn.entity(node) for node in nodes] == [
        Entity("metalake", "m"),
        Entity("catalog", "m:c19"),
        Entity("schema", "m:c00.s00"),
        Entity("schema", "m:c19.s49"),
        Entity("table", "m:c00.s00.t0000"),
        Entity("table", "m:c19.s49.t0099"),
    ]
    assert [drawn.parent(node) for node in nodes] == [None, 0, 1, 20, 21, 1_020]


def test_the_rows_hold_every_node_owner_member_and_grant(drawn: Workload) -> None:
    facts = drawn.facts()
    effects = Counter(statement.effect for statement in facts.statements)
    in_metalake = {row.member for row in facts.memberships if row.of == members_of("m")}
    assert len(facts.entities) == drawn.nodes
    assert len(facts.owners) == len(drawn.owner)
    assert effects == {Effect.ALLOW: 2_722, Effect.DENY: 278}
    assert in_metalake == {user(u) for u in range(USERS)}
    assert len({statement.id for statement in facts.statements}) == 3_000


def test_the_digest_of_answers_tells_order_and_values_apart() -> None:
    digests = {answers_digest(each) for each in ([True, False], [False, True], [True], [])}
    assert len(digests) == 4


def test_the_kernel_answers_w_as_published_one_by_one_and_as_a_batch(drawn: Workload) -> None:
    compiled = matrix(drawn)
    assert answers_digest(answers(drawn, compiled)) == ANSWERS_W
    requests = [Request(user(u), "table.load", drawn.entity(node)) for u, node in drawn.queries]
    assert answers_digest(decide_many(compiled, requests)) == ANSWERS_W
    assert not compiled.errors


@pytest.mark.nightly
def test_w_with_a_million_tables_is_drawn_and_answered_as_published() -> None:
    drawn = draw(TABLES_W_1M)
    assert drawn.digest() == SHA256_W_1M
    assert answers_digest(answers(drawn, matrix(drawn))) == ANSWERS_W_1M
