"""Statements in the cells of tables."""

from __future__ import annotations

import json
from typing import Final

from lakewarden.kernel.statement import Scope, Statement
from lakewarden.kernel.statement_file import write_statement

ANYTHING: Final = "anything"

_KEYS: Final = ("on", "matching", "where")


def scope_text(statement: Statement) -> str:
    """The scope as a statement file has it: `on …`, `matching …`, `where …` or `anything`.

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
    """To whom, as a statement file has it."""
    to = write_statement(statement)["to"]
    assert isinstance(to, list)  # noqa: S101 — INVARIANT: a list of texts
    return to


def texts_of_scopes(statement: Statement, scopes: list[Scope]) -> str:
    """Several scopes in one cell."""
    from dataclasses import replace

    return "; ".join(scope_text(replace(statement, scope=scope)) for scope in scopes)
