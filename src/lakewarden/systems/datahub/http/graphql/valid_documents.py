"""Documents from clients: parsed, within their budget, and valid.

A client sends the same few documents repeatedly, with different variables. The latest valid ones
are cached, so each is parsed once.
"""

from __future__ import annotations

from collections import OrderedDict
from threading import Lock

from graphql import (
    DocumentNode,
    GraphQLError,
    NoSchemaIntrospectionCustomRule,
    parse,
    specified_rules,
    validate,
)

from lakewarden.systems.datahub.http.graphql import budget
from lakewarden.systems.datahub.http.graphql.schema import schema

MAX_TOKENS = 20_000
"""The maximum number of tokens in a document."""

MAX_ERRORS = 20
"""The maximum number of reported errors of one document."""

MAX_KEPT = 2**18
"""Characters of all cached documents together; a character takes 40 bytes, at most 300."""


class InvalidDocument(Exception):
    """The document is invalid for the schema."""

    def __init__(self, faults: list[GraphQLError]) -> None:
        super().__init__("; ".join(fault.message for fault in faults))
        self.faults = faults


class ValidDocuments:
    """A cache of valid documents by their text. Thread-safe."""

    def __init__(self, most: int = MAX_KEPT) -> None:
        self._most = most
        self._size = 0
        self._lock = Lock()
        self._kept: OrderedDict[tuple[str, bool], DocumentNode] = OrderedDict()

    def valid(self, query: str, *, introspects: bool) -> DocumentNode:
        """The document of a text; it may query the schema itself only if `introspects`.

        Raises `GraphQLSyntaxError`, `InvalidDocument`, `Failure` for one that exceeds the budget,
        and `RecursionError` for too deep nesting.
        """
        key = (query, introspects)
        with self._lock:
            cached = self._kept.get(key)
            if cached is not None:
                self._kept.move_to_end(key)
                return cached
        document = _valid(query, introspects)
        self._cache(key, document)
        return document

    def _cache(self, key: tuple[str, bool], document: DocumentNode) -> None:
        size = len(key[0])
        with self._lock:
            if size > self._most or key in self._kept:
                return
            self._kept[key] = document
            self._size += size
            while self._size > self._most:
                (query, _), _ = self._kept.popitem(last=False)
                self._size -= len(query)


def _valid(query: str, introspects: bool) -> DocumentNode:
    document = parse(query, max_tokens=MAX_TOKENS)
    budget.check(document)
    rules = specified_rules if introspects else (*specified_rules, NoSchemaIntrospectionCustomRule)
    faults = validate(schema(), document, rules, max_errors=MAX_ERRORS)
    if faults:
        raise InvalidDocument(faults)
    return document
