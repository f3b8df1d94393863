"""A proposal as a policy file: the form that `lakewarden plan` accepts, and its effect."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final

from lakewarden.kernel.statement import Scope, Statement
from lakewarden.kernel.statement_file import read_statements, write_statement
from lakewarden.pipeline.unused.proposal import Change
from lakewarden.service.system import System
from lakewarden.service.toml_text import key, lines

_HEAD: Final = """\
# What is left of statements of which not all was used since {since}.
#
# Statements that stand in no policy file yet:
#     lakewarden plan proposal.toml --realm {realm} --name least-privilege --adopt
# Others: put these in place of those with the same ids in your own files, and plan those.
# In an ingested directory: this file into `statements/`, where it counts over what was ingested.
"""


def tables(changes: Iterable[Change]) -> list[dict[str, object]]:
    """The statements that are changed or new, by id."""
    statements = [statement for change in changes for statement in change.now]
    return [
        write_statement(statement)
        for statement in sorted(statements, key=lambda statement: statement.id)
    ]


def text(realm: str, changes: Sequence[Change], since: str) -> str:
    """The text of the file."""
    return "".join(_lines(realm, changes, since))


def _lines(realm: str, changes: Sequence[Change], since: str) -> Iterator[str]:
    yield _HEAD.format(since=since, realm=key(realm))
    yield "\n"
    yield from lines({"realm": realm})
    for change in changes:
        for number, statement in enumerate(change.now):
            yield f"\n# {_why(change, number)}\n[[statement]]\n"
            yield from lines(write_statement(statement))


def _why(change: Change, number: int) -> str:
    was, now = change.was, change.now[number]
    if not now.active:
        return "nothing of it was used"
    if number:
        return "the rest of the one before" if number == 1 else "more of the rest"
    less = [
        name
        for name, differs in (
            ("privileges", now.privileges != was.privileges),
            ("principals", (now.principals, now.owners) != (was.principals, was.owners)),
            ("scope", now.scope != was.scope),
        )
        if differs
    ]
    return f"narrower: {', '.join(less) or 'in parts'}"


def read(
    statements: Sequence[Mapping[str, object]], system: System, where: str
) -> tuple[Statement, ...]:
    """The statements of a proposal."""
    return read_statements(statements, system.model, system.spelling, where)


def applied(stated: Iterable[Statement], changed: Iterable[Statement]) -> tuple[Statement, ...]:
    """The statements after the proposal is applied."""
    by_id = {statement.id: statement for statement in stated}
    by_id.update((statement.id, statement) for statement in changed)
    return tuple(by_id.values())


ANYTHING: Final = "anything"

_KEYS: Final = ("on", "matching", "where")


def scope_text(statement: Statement) -> str:
    """The scope as in a statement file: `on …`, `matching …`, `where …` or `anything`.

    >>> from lakewarden.kernel.entity import Entity
    >>> from lakewarden.kernel.statement import Effect, On
    >>> scope_text(Statement("s", Effect.ALLOW, frozenset(), On(Entity("table", "lake:c.s.t"))))
    'on table:lake:c.s.t'
    """
    table = write_statement(statement)
    key = next((key for key in _KEYS if key in table), None)
    if key is None:
        return ANYTHING
    value = table[key]
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return f"{key} {text}"


def actor_texts(statement: Statement) -> list[str]:
    """The recipients as in a statement file."""
    to = write_statement(statement)["to"]
    assert isinstance(to, list)  # noqa: S101 — INVARIANT: a list of texts
    return to


def texts_of_scopes(statement: Statement, scopes: list[Scope]) -> str:
    """Several scopes in one cell."""
    from dataclasses import replace

    return "; ".join(scope_text(replace(statement, scope=scope)) for scope in scopes)
