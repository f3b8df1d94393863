"""Sentences about statements and decisions, for pages, plans, history and the command line.

A sentence is a sequence of phrases. A phrase may have a reference (`Ref`) to the named object,
which a page turns into a link. `plain` is the sentence as text.
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
from lakewarden.names.identities import URN, entity_text
from lakewarden.names.label import urn_label
from lakewarden.service.audit import TITLES
from lakewarden.service.realm import CONTROL
from lakewarden.service.state import RealmState, State

_LISTED: Final = 4
"""The most names that a list shows; the others are counted."""

_CONDITIONS: Final = {
    Condition.EQUALS: "is",
    Condition.NOT_EQUALS: "is not",
    Condition.STARTS_WITH: "starts with",
}


@dataclass(frozen=True, slots=True)
class Ref:
    """A reference to an `entity`, `principal`, `privilege`, `operation` or `statement`."""

    kind: str
    name: str
    realm: str


@dataclass(frozen=True, slots=True)
class Phrase:
    """A part of a sentence, including its spaces."""

    text: str
    ref: Ref | None = None


def plain(phrases: Iterable[Phrase]) -> str:
    """The sentence as text."""
    return "".join(phrase.text for phrase in phrases)


class Sentences:
    """The sentences about one realm."""

    def __init__(self, realm_state: RealmState) -> None:
        self._realm = realm_state.realm.name
        self._system = realm_state.system

    def entity(self, entity: Entity) -> Phrase:
        """The entity by its display name."""
        if entity == NO_RESOURCE:
            return Phrase(self._system.model.title)
        is_urn = entity.name.startswith(URN)
        called = urn_label(entity.name) if is_urn else entity.name.rpartition(":")[2]
        return Phrase(called, Ref("entity", entity_text(entity), self._realm))

    def principal(self, principal: Principal) -> Phrase:
        """The principal by its name."""
        text = principal_text(principal)
        return Phrase(_display_name(principal), Ref("principal", text, self._realm))

    def privileges(self, names: Iterable[str]) -> list[Phrase]:
        """Privileges, separated by commas."""
        ordered = sorted(names)
        phrases = [Phrase(name, Ref("privilege", name, self._realm)) for name in ordered[:_LISTED]]
        return _joined(phrases, len(ordered) - len(phrases))

    def statement(self, statement: Statement) -> list[Phrase]:
        """Who may, or may not, do what on what; or which rows or values are visible."""
        if statement.obliges:
            return self._obligation(statement)
        effect = " may " if statement.effect is Effect.ALLOW else " may not "
        phrases = [*self._whom(statement), Phrase(effect), *self.privileges(statement.privileges)]
        phrases += self._on(statement)
        if statement.constraint is not None:
            phrases.append(Phrase(", within its sub-resource constraint"))
        if not statement.active:
            phrases.append(Phrase(" (inactive)"))
        return phrases

    def _obligation(self, statement: Statement) -> list[Phrase]:
        """Who sees which rows, or which values of which columns; and the exceptions."""
        is_bound = statement.principals or statement.owners is not None
        phrases = self._whom(statement) if is_bound else [Phrase("everybody")]
        is_filter = statement.effect is Effect.FILTER
        phrases.append(Phrase(" may see only rows" if is_filter else " may see values"))
        phrases += self._on(statement) or [Phrase(" on everything")]
        phrases.append(Phrase(f"{' where' if is_filter else ' only as'} {statement.expression}"))
        if statement.exceptions or statement.except_owners is not None:
            phrases += [
                Phrase(", except "),
                *self._actors(statement.exceptions, statement.except_owners),
            ]
        if not statement.active:
            phrases.append(Phrase(" (inactive)"))
        return phrases

    def _whom(self, statement: Statement) -> list[Phrase]:
        return self._actors(statement.principals, statement.owners)

    def _actors(self, principals: Iterable[Principal], owners: Owners | None) -> list[Phrase]:
        named = sorted(principals)
        phrases = [self.principal(principal) for principal in named[:_LISTED]]
        if owners is not None:
            phrases.append(Phrase(_owners(owners)))
        if not phrases:
            return [Phrase("nobody")]
        return _joined(phrases, len(named) - min(len(named), _LISTED))

    def _on(self, statement: Statement) -> list[Phrase]:
        match statement.scope:
            case On(entity) if entity == NO_RESOURCE:
                return []
            case On(entity):
                return [Phrase(f" on {entity.type} "), self.entity(entity)]
            case Matching(type=type, parts=parts):
                return [Phrase(f" on every {type} matching {'.'.join(parts)}")]
            case Where(criteria=criteria) if criteria:
                return self._where(criteria)
            case _:
                declared = self._system.model.privileges
                is_about_assets = any(declared[name].on for name in statement.privileges)
                return [Phrase(" on everything")] if is_about_assets else []

    def _where(self, criteria: Sequence[Criterion]) -> list[Phrase]:
        """The type first, as `every dataset`; then the other criteria."""
        fields = self._system.model.fields
        types = [
            criterion
            for criterion in criteria
            if fields[criterion.field].origin == ("type",)
            and criterion.condition is Condition.EQUALS
        ]
        phrases = [Phrase(" on ")]
        if types:
            phrases += [
                Phrase("every "),
                *_joined([Phrase(value) for value in types[0].values], 0, " or "),
            ]
        else:
            phrases.append(Phrase("everything"))
        others = [criterion for criterion in criteria if criterion not in types[:1]]
        for place, criterion in enumerate(others):
            phrases.append(Phrase(" and " if place else " whose "))
            phrases += self._criterion(criterion)
        return phrases

    def _criterion(self, criterion: Criterion) -> list[Phrase]:
        field = criterion.field.lower().replace("_", " ")
        is_prefix = criterion.condition is Condition.STARTS_WITH
        named = criterion.values[:_LISTED]
        phrases = [Phrase(value) if is_prefix else self._value(value) for value in named]
        values = _joined(phrases, len(criterion.values) - len(phrases), " or ") or [
            Phrase("nothing")
        ]
        return [Phrase(f"{field} {_CONDITIONS[criterion.condition]} "), *values]

    def _value(self, text: str) -> Phrase:
        if not text.startswith(URN):
            return Phrase(text)
        return Phrase(urn_label(text), Ref("entity", text, self._realm))

    def answer(
        self, request: Request, explanation: Explanation, named: Sequence[Statement]
    ) -> list[Phrase]:
        """The decision in one sentence, and its cause in a second one."""
        may = " may " if explanation.decision.allow else " may not "
        phrases = [self.principal(request.principal), Phrase(may), *self._act(request), Phrase(".")]
        return phrases + (
            self._because(explanation, named)
            if explanation.decision.allow
            else self._why_not(request, explanation, named)
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
            statement
            for statement in named
            if statement.effect is Effect.ALLOW and statement.id in explanation.statements
        ]
        if not allowing:
            return []
        phrases = [Phrase(" "), *self.statement(allowing[0])]
        more = len(allowing) - 1
        if more:
            allow = "statements allow" if more > 1 else "statement allows"
            phrases.append(Phrase(f"; {more} more {allow} it"))
        return [*phrases, Phrase(".")]

    def _why_not(
        self, request: Request, explanation: Explanation, named: Sequence[Statement]
    ) -> list[Phrase]:
        if explanation.decision.reason is Reason.NOT_STORED:
            return [Phrase(" It is not stored, and this operation requires a stored entity.")]
        denying = [
            statement
            for statement in named
            if statement.effect is Effect.DENY and statement.id in explanation.statements
        ]
        if denying:
            return [
                Phrase(" A DENY applies: "),
                *self._whom(denying[0]),
                Phrase(" may not "),
                *self.privileges(denying[0].privileges),
                *self._on(denying[0]),
                Phrase(", and a DENY overrides every ALLOW."),
            ]
        if not explanation.ways or not explanation.ways[0].needs:
            return []
        need = explanation.ways[0].needs[0]
        phrases = [Phrase(" It requires "), *self.privileges([need.privilege])]
        if need.entity != NO_RESOURCE:
            phrases += [Phrase(f" on {need.entity.type} "), self.entity(need.entity)]
        more = len(explanation.ways[0].needs) - 1
        if more:
            phrases.append(Phrase(f", and {more} more"))
        return [*phrases, Phrase(".")]


def event_title(event: Mapping[str, object], state: State) -> str:
    """The model's name of an event's operation; "" for an unknown operation.

    An operation that the realm's model does not declare is one of lakewarden itself.
    """
    operation = str(event.get("operation", ""))
    for realm in (str(event.get("realm", "")), CONTROL):
        realm_state = state.realms.get(realm)
        model = None if realm_state is None else realm_state.system.model
        if model is not None and operation in model.operations:
            return model.operations[operation].title
    return TITLES.get(operation, "")


def event_sentence(event: Mapping[str, object], title: str) -> list[Phrase]:
    """An event of the audit trail: actor, outcome, operation and target.

    `title` is the name of the operation; "" shows its identifier.
    """
    outcome = {"allow": ": ", "deny": " was denied: ", "error": " failed: "}
    verb = outcome.get(str(event.get("outcome", "")), ": ")
    operation, realm = str(event.get("operation", "")), str(event.get("realm", ""))
    phrases = [
        Phrase(str(event.get("actor", "") or "anonymous")),
        Phrase(verb),
        Phrase(title or operation, Ref("operation", operation, realm)),
    ]
    details = event.get("details")
    statement = details.get("statement") if isinstance(details, Mapping) else None
    if isinstance(statement, str) and statement:
        phrases += [
            Phrase(" of "),
            Phrase(statement, Ref("statement", statement, _realm_of(event))),
        ]
    target = str(event.get("target", ""))
    return [*phrases, Phrase(f" on {target}")] if target else phrases


def _realm_of(event: Mapping[str, object]) -> str:
    target = str(event.get("target", ""))
    named = target.removeprefix("realm:") if target.startswith("realm:") else ""
    return named or str(event.get("realm", ""))


def _display_name(principal: Principal) -> str:
    if principal == ALL_USERS:
        return "every user"
    if principal == ANY_GROUP:
        return "every group"
    if principal.kind == USER:
        return urn_label(principal.name)
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
    return urn_label(text).removeprefix("__system__").replace("_", " ")


def _joined(phrases: Sequence[Phrase], more: int, last: str = " and ") -> list[Phrase]:
    """A list of phrases: `a, b and c`."""
    row: list[Phrase] = []
    for place, phrase in enumerate(phrases):
        if place:
            row.append(Phrase(last if place == len(phrases) - 1 and not more else ", "))
        row.append(phrase)
    if more:
        row.append(Phrase(f"{last}{more} more"))
    return row
