"""Sentences about rules and answers, written once for pages, plans, history and the command line.

A sentence is a sequence of words; a word may name something (`Ref`), so that a reader can be led
to it. `plain` is the sentence as text.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from lakewarden.kernel.entity import NO_RESOURCE, Entity
from lakewarden.kernel.explain import Explanation
from lakewarden.kernel.principal import ALL_USERS, ANY_GROUP, GROUP, USER, Principal
from lakewarden.kernel.request import Reason, Request
from lakewarden.kernel.statement import Effect, Matching, On, Statement
from lakewarden.kernel.statement_file import principal_text
from lakewarden.names.label import urn_label
from lakewarden.service.state import RealmState

_SHOWN: Final = 4
"""Names in a row; of more only the number is said."""


@dataclass(frozen=True, slots=True)
class Ref:
    """What a word names: an `entity`, `principal`, `privilege`, `operation` or `statement`."""

    kind: str
    name: str
    realm: str


@dataclass(frozen=True, slots=True)
class Word:
    """A part of a sentence, with the spaces that belong to it."""

    text: str
    ref: Ref | None = None


def plain(words: Iterable[Word]) -> str:
    """The sentence as text."""
    return "".join(word.text for word in words)


class Sentences:
    """The sentences about one realm."""

    def __init__(self, found: RealmState) -> None:
        self._realm = found.realm.name
        self._system = found.system

    def entity(self, entity: Entity) -> Word:
        """The entity by the name that people call it."""
        if entity == NO_RESOURCE:
            return Word(self._system.model.title)
        is_urn = entity.name.startswith("urn:li:")
        text = entity.name if is_urn else f"{entity.type}:{entity.name}"
        called = urn_label(entity.name) if is_urn else entity.name.rpartition(":")[2]
        return Word(called, Ref("entity", text, self._realm))

    def principal(self, principal: Principal) -> Word:
        """The principal by its name."""
        text = principal_text(principal)
        return Word(_called(principal), Ref("principal", text, self._realm))

    def privileges(self, names: Iterable[str]) -> list[Word]:
        """Privileges, with commas between."""
        ordered = sorted(names)
        words = [Word(name, Ref("privilege", name, self._realm)) for name in ordered[:_SHOWN]]
        return _row(words, len(ordered) - len(words))

    def statement(self, statement: Statement) -> list[Word]:
        """Who may, or may not, do what on what."""
        effect = " may " if statement.effect is Effect.ALLOW else " may never "
        words = [*self._whom(statement), Word(effect), *self.privileges(statement.privileges)]
        words += self._on(statement)
        if statement.constraint is not None:
            words.append(Word(", as far as its limits go"))
        if not statement.active:
            words.append(Word(" (not in force)"))
        return words

    def _whom(self, statement: Statement) -> list[Word]:
        named = sorted(statement.principals)
        words = [self.principal(one) for one in named[:_SHOWN]]
        if statement.owners is not None:
            words.append(Word("owners of the resource"))
        return _row(words, len(named) - min(len(named), _SHOWN))

    def _on(self, statement: Statement) -> list[Word]:
        match statement.scope:
            case On(entity) if entity == NO_RESOURCE:
                return []
            case On(entity):
                return [Word(f" on {entity.type} "), self.entity(entity)]
            case Matching(type=type, parts=parts):
                return [Word(f" on every {type} like {'.'.join(parts)}")]
            case _:
                return [Word(" on what its conditions name")]

    def answer(
        self, request: Request, found: Explanation, named: Sequence[Statement]
    ) -> list[Word]:
        """The answer to a question in one sentence or two, its cause first."""
        may = " may " if found.decision.allow else " may not "
        words = [self.principal(request.principal), Word(may), *self._act(request), Word(".")]
        return words + (
            self._because(found, named)
            if found.decision.allow
            else self._why_not(request, found, named)
        )

    def _act(self, request: Request) -> list[Word]:
        operation = self._system.model.operation(request.operation)
        target = request.target
        if target == NO_RESOURCE:
            return [Word(operation.title)]
        for article in (f" a {target.type}", f" an {target.type}"):
            if operation.title.endswith(article):
                return [Word(operation.title.removesuffix(article) + " "), self.entity(target)]
        return [Word(f"{operation.title}: "), self.entity(target)]

    def _because(self, found: Explanation, named: Sequence[Statement]) -> list[Word]:
        allowing = [
            one for one in named if one.effect is Effect.ALLOW and one.id in found.statements
        ]
        if not allowing:
            return []
        words = [Word(" "), *self.statement(allowing[0])]
        if len(allowing) > 1:
            words.append(Word(f", and {len(allowing) - 1} more statements add to it"))
        return [*words, Word(".")]

    def _why_not(
        self, request: Request, found: Explanation, named: Sequence[Statement]
    ) -> list[Word]:
        if found.decision.reason is Reason.NOT_STORED:
            return [Word(" It is not stored here, and nobody may do this on what is not there.")]
        denying = [one for one in named if one.effect is Effect.DENY and one.id in found.statements]
        if denying:
            return [
                Word(" A DENY stands in the way: "),
                *self._whom(denying[0]),
                Word(" may never "),
                *self.privileges(denying[0].privileges),
                *self._on(denying[0]),
                Word(", and a DENY beats every ALLOW."),
            ]
        if not found.ways or not found.ways[0].needs:
            return []
        need = found.ways[0].needs[0]
        words = [Word(" It needs "), *self.privileges([need.privilege])]
        if need.entity != NO_RESOURCE:
            words += [Word(f" on {need.entity.type} "), self.entity(need.entity)]
        more = len(found.ways[0].needs) - 1
        if more:
            words.append(Word(f", and {more} more"))
        return [*words, Word(".")]


def _called(principal: Principal) -> str:
    if principal == ALL_USERS:
        return "every user"
    if principal == ANY_GROUP:
        return "every group"
    if principal.kind == USER:
        return principal.name
    name = principal.name.rpartition(":")[2]
    return f"{'members of' if principal.kind == GROUP else f'the {principal.kind}'} {name}"


def _row(words: Sequence[Word], more: int) -> list[Word]:
    """Words in a row: `a, b and c`."""
    row: list[Word] = []
    for place, word in enumerate(words):
        if place:
            row.append(Word(" and " if place == len(words) - 1 and not more else ", "))
        row.append(word)
    if more:
        row.append(Word(f" and {more} more"))
    return row
