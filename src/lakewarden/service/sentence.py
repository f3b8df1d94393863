"""Sentences about rules and answers, written once for pages, plans, history and the command line.

A sentence is a sequence of words; a word may name something (`Ref`), so that a reader can be led
to it. `plain` is the sentence as text.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from lakewarden.kernel.entity import NO_RESOURCE, Entity
from lakewarden.kernel.explain import Explanation
from lakewarden.kernel.principal import ALL_USERS, ANY_GROUP, GROUP, IMPLIED, USER, Principal
from lakewarden.kernel.request import Reason, Request
from lakewarden.kernel.statement import (
    Condition,
    Criterion,
    Effect,
    Matching,
    On,
    Owners,
    Statement,
    Where,
)
from lakewarden.kernel.statement_file import principal_text
from lakewarden.names.label import urn_label
from lakewarden.service.state import RealmState

_SHOWN: Final = 4
"""Names in a row; of more only the number is said."""

_URN: Final = "urn:li:"
_CONDITIONS: Final = {
    Condition.EQUALS: "is",
    Condition.NOT_EQUALS: "is not",
    Condition.STARTS_WITH: "starts with",
}


@dataclass(frozen=True, slots=True)
class Ref:
    """What a word names: an `entity`, `principal`, `privilege`, `operation` or `statement`."""

    kind: str
    name: str
    realm: str


@dataclass(frozen=True, slots=True)
class Phrase:
    """A part of a sentence, with the spaces that belong to it."""

    text: str
    ref: Ref | None = None


def plain(words: Iterable[Phrase]) -> str:
    """The sentence as text."""
    return "".join(word.text for word in words)


class Sentences:
    """The sentences about one realm."""

    def __init__(self, realm_state: RealmState) -> None:
        self._realm = realm_state.realm.name
        self._system = realm_state.system

    def entity(self, entity: Entity) -> Phrase:
        """The entity by the name that people call it."""
        if entity == NO_RESOURCE:
            return Phrase(self._system.model.title)
        is_urn = entity.name.startswith(_URN)
        text = entity.name if is_urn else f"{entity.type}:{entity.name}"
        called = urn_label(entity.name) if is_urn else entity.name.rpartition(":")[2]
        return Phrase(called, Ref("entity", text, self._realm))

    def principal(self, principal: Principal) -> Phrase:
        """The principal by its name."""
        text = principal_text(principal)
        return Phrase(_called(principal), Ref("principal", text, self._realm))

    def privileges(self, names: Iterable[str]) -> list[Phrase]:
        """Privileges, with commas between."""
        ordered = sorted(names)
        words = [Phrase(name, Ref("privilege", name, self._realm)) for name in ordered[:_SHOWN]]
        return _row(words, len(ordered) - len(words))

    def statement(self, statement: Statement) -> list[Phrase]:
        """Who may, or may not, do what on what."""
        effect = " may " if statement.effect is Effect.ALLOW else " may never "
        words = [*self._whom(statement), Phrase(effect), *self.privileges(statement.privileges)]
        words += self._on(statement)
        if statement.constraint is not None:
            words.append(Phrase(", as far as its limits go"))
        if not statement.active:
            words.append(Phrase(" (not in force)"))
        return words

    def _whom(self, statement: Statement) -> list[Phrase]:
        named = sorted(statement.principals)
        words = [self.principal(one) for one in named[:_SHOWN]]
        if statement.owners is not None:
            words.append(Phrase(_owners(statement.owners)))
        if not words:
            return [Phrase("nobody")]
        return _row(words, len(named) - min(len(named), _SHOWN))

    def _on(self, statement: Statement) -> list[Phrase]:
        match statement.scope:
            case On(entity) if entity == NO_RESOURCE:
                return []
            case On(entity):
                return [Phrase(f" on {entity.type} "), self.entity(entity)]
            case Matching(type=type, parts=parts):
                return [Phrase(f" on every {type} like {'.'.join(parts)}")]
            case Where(criteria=criteria) if criteria:
                return self._where(criteria)
            case _:
                declared = self._system.model.privileges
                is_about_assets = any(declared[name].on for name in statement.privileges)
                return [Phrase(" on everything")] if is_about_assets else []

    def _where(self, criteria: Sequence[Criterion]) -> list[Phrase]:
        """The type first, as `every dataset`; the other criteria behind it."""
        fields = self._system.model.fields
        types = [
            one
            for one in criteria
            if fields[one.field].origin == ("type",) and one.condition is Condition.EQUALS
        ]
        words = [Phrase(" on ")]
        if types:
            words += [Phrase("every "), *_row([Phrase(one) for one in types[0].values], 0, " or ")]
        else:
            words.append(Phrase("everything"))
        others = [one for one in criteria if one not in types[:1]]
        for place, one in enumerate(others):
            words.append(Phrase(" and " if place else " whose "))
            words += self._criterion(one)
        return words

    def _criterion(self, criterion: Criterion) -> list[Phrase]:
        field = criterion.field.lower().replace("_", " ")
        is_prefix = criterion.condition is Condition.STARTS_WITH
        named = criterion.values[:_SHOWN]
        shown = [Phrase(value) if is_prefix else self._value(value) for value in named]
        values = _row(shown, len(criterion.values) - len(shown), " or ") or [Phrase("nothing")]
        return [Phrase(f"{field} {_CONDITIONS[criterion.condition]} "), *values]

    def _value(self, text: str) -> Phrase:
        if not text.startswith(_URN):
            return Phrase(text)
        return Phrase(urn_label(text), Ref("entity", text, self._realm))

    def answer(
        self, request: Request, found: Explanation, named: Sequence[Statement]
    ) -> list[Phrase]:
        """The answer to a question in one sentence or two, its cause first."""
        may = " may " if found.decision.allow else " may not "
        words = [self.principal(request.principal), Phrase(may), *self._act(request), Phrase(".")]
        return words + (
            self._because(found, named)
            if found.decision.allow
            else self._why_not(request, found, named)
        )

    def _act(self, request: Request) -> list[Phrase]:
        operation = self._system.model.operation(request.operation)
        target = request.target
        if target == NO_RESOURCE:
            return [Phrase(operation.title)]
        for article in (f" a {target.type}", f" an {target.type}"):
            if operation.title.endswith(article):
                return [Phrase(operation.title.removesuffix(article) + " "), self.entity(target)]
        return [Phrase(f"{operation.title}: "), self.entity(target)]

    def _because(self, explanation: Explanation, named: Sequence[Statement]) -> list[Phrase]:
        allowing = [
            one for one in named if one.effect is Effect.ALLOW and one.id in explanation.statements
        ]
        if not allowing:
            return []
        words = [Phrase(" "), *self.statement(allowing[0])]
        if len(allowing) > 1:
            words.append(Phrase(f", and {len(allowing) - 1} more statements add to it"))
        return [*words, Phrase(".")]

    def _why_not(
        self, request: Request, explanation: Explanation, named: Sequence[Statement]
    ) -> list[Phrase]:
        if explanation.decision.reason is Reason.NOT_STORED:
            return [Phrase(" It is not stored here, and nobody may do this on what is not there.")]
        denying = [
            one for one in named if one.effect is Effect.DENY and one.id in explanation.statements
        ]
        if denying:
            return [
                Phrase(" A DENY stands in the way: "),
                *self._whom(denying[0]),
                Phrase(" may never "),
                *self.privileges(denying[0].privileges),
                *self._on(denying[0]),
                Phrase(", and a DENY beats every ALLOW."),
            ]
        if not explanation.ways or not explanation.ways[0].needs:
            return []
        need = explanation.ways[0].needs[0]
        words = [Phrase(" It needs "), *self.privileges([need.privilege])]
        if need.entity != NO_RESOURCE:
            words += [Phrase(f" on {need.entity.type} "), self.entity(need.entity)]
        more = len(explanation.ways[0].needs) - 1
        if more:
            words.append(Phrase(f", and {more} more"))
        return [*words, Phrase(".")]


def act_words(event: Mapping[str, object]) -> list[Phrase]:
    """An event of the audit trail: who did what on what, and what came of it."""
    outcome = {"allow": "", "deny": " was refused", "error": " failed at"}
    verb = outcome.get(str(event.get("outcome", "")), "")
    words = [Phrase(str(event.get("actor", "") or "somebody")), Phrase(verb)]
    operation, realm = str(event.get("operation", "")), str(event.get("realm", ""))
    words += [Phrase(" "), Phrase(operation, Ref("operation", operation, realm))]
    details = event.get("details")
    statement = details.get("statement") if isinstance(details, Mapping) else None
    if isinstance(statement, str) and statement:
        words += [Phrase(" of "), Phrase(statement, Ref("statement", statement, _realm_of(event)))]
    target = str(event.get("target", ""))
    return [*words, Phrase(f" on {target}")] if target else words


def _realm_of(event: Mapping[str, object]) -> str:
    target = str(event.get("target", ""))
    named = target.removeprefix("realm:") if target.startswith("realm:") else ""
    return named or str(event.get("realm", ""))


def _called(principal: Principal) -> str:
    if principal == ALL_USERS:
        return "every user"
    if principal == ANY_GROUP:
        return "every group"
    if principal.kind == USER:
        return urn_label(principal.name) if principal.name.startswith(_URN) else principal.name
    name = principal.name.rpartition(":")[2]
    if principal.kind == IMPLIED:
        return f"members of {name}" if principal.name.startswith("members:") else name
    return f"{'members of' if principal.kind == GROUP else f'the {principal.kind}'} {name}"


def _owners(owners: Owners) -> str:
    if owners.types is None:
        return "owners of the resource"
    types = " or ".join(sorted(map(_type_label, owners.types)))
    return f"owners of the resource as {types}" if types else "owners of no type"


def _type_label(text: str) -> str:
    label = urn_label(text) if text.startswith(_URN) else text
    return label.removeprefix("__system__").replace("_", " ")


def _row(words: Sequence[Phrase], more: int, last: str = " and ") -> list[Phrase]:
    """Words in a row: `a, b and c`."""
    row: list[Phrase] = []
    for place, word in enumerate(words):
        if place:
            row.append(Phrase(last if place == len(words) - 1 and not more else ", "))
        row.append(word)
    if more:
        row.append(Phrase(f"{last}{more} more"))
    return row
