"""Questions to several realms of a directory at once, along the links between them.

A realm in which the caller may not ask is left out, and so is every link to it: its content and its
links change no answer. The realms left out are named if the caller may know of them, whether or not
there are links to them.

An operation is one of a realm's model, or an access level (`see`, `read`, `change`): in each realm,
a level means the operation that its model declares for the entity's type.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Generic, TypeVar

from lakewarden.kernel.entity import NO_RESOURCE, Entity
from lakewarden.kernel.errors import BadInput, Unknown
from lakewarden.kernel.listing import Page
from lakewarden.kernel.model import WAYS, Model
from lakewarden.kernel.principal import Principal
from lakewarden.service import questions
from lakewarden.service.actor import Actor
from lakewarden.service.control import Denied
from lakewarden.service.link import Asset
from lakewarden.service.links import asset
from lakewarden.service.question_text import QuestionText
from lakewarden.service.questions import AuthorizedQuestion, Reasons
from lakewarden.service.realm_selection import (
    May,
    RealmSelection,
    right,
    right_to_ask,
    selected_realms,
)
from lakewarden.service.state import State
from lakewarden.service.system import System

T = TypeVar("T")


# People


def person(system: System, principal: Principal) -> str:
    """The directory's name for the user; a name that only the realm knows is unchanged.

    >>> from lakewarden.service.system import load_system
    >>> person(load_system("datahub"), Principal("user", "urn:li:corpuser:ana"))
    'ana'
    """
    return system.identities.person(principal)


# The parts of a question


@dataclass(frozen=True, slots=True)
class RealmQuestion:
    """One realm's part of a question: the operation there, and the entity (None: none)."""

    realm: str
    operation: str
    entity: Entity | None
    way: str = ""

    @property
    def asset(self) -> Asset | None:
        """The entity with its realm."""
        return None if self.entity is None else Asset(self.realm, self.entity)


@dataclass(frozen=True, slots=True)
class InapplicableRealm:
    """A realm to which the question does not apply, and why."""

    realm: str
    why: str


@dataclass(frozen=True, slots=True)
class CrossRealmQuestion:
    """A question, split by realm."""

    selection: RealmSelection
    units: tuple[RealmQuestion, ...]
    silent: tuple[InapplicableRealm, ...]


def split_by_realm(
    state: State,
    selection: RealmSelection,
    operation: str,
    entity: str | None,
    home: str | None = None,
) -> CrossRealmQuestion:
    """The question's parts: for the entity and for all entities linked to it.

    With `home` the text names an entity of that realm only. Raises `Unknown` for an operation that
    none of the realms has, and the errors of `targets`.
    """
    about = None if entity is None else targets(state, selection, entity, home)
    units: list[RealmQuestion] = []
    silent: list[InapplicableRealm] = []
    for name in selection.realms:
        system = state.realm(name).system
        entities = (
            [None] if about is None else [asset.entity for asset in about if asset.realm == name]
        )
        if not entities:
            silent.append(InapplicableRealm(name, "has no entity linked to this entity"))
            continue
        realm_questions = [
            unit for at in entities for unit in _units(system.model, name, operation, at)
        ]
        units += realm_questions
        if not realm_questions:
            silent.append(InapplicableRealm(name, _inapplicable_reason(system.model, operation)))
    if (
        not units
        and selection.realms
        and not any(
            _has_operation(state.realm(name).system.model, operation) for name in selection.realms
        )
    ):
        raise Unknown("operation or privilege", operation, "none of the realms contains it")
    return CrossRealmQuestion(selection, tuple(units), tuple(silent))


def _units(
    model: Model, realm: str, operation: str, entity: Entity | None
) -> Iterator[RealmQuestion]:
    if operation in WAYS:
        if entity is not None:
            reaching = model.reaching(operation, entity.type)
            if reaching is not None:
                yield RealmQuestion(realm, reaching, entity, operation)
    elif _has_operation(model, operation):
        declared = model.operations.get(operation)
        type = "" if entity is None else entity.type
        if declared is None or declared.rule_or_none(type) is not None:
            yield RealmQuestion(realm, operation, entity)


def _has_operation(model: Model, operation: str) -> bool:
    if operation in WAYS:
        return bool(model.access.get(operation))
    return operation in model.operations or (
        model.spelled.get(operation, operation) in model.privileges
    )


def _inapplicable_reason(model: Model, operation: str) -> str:
    if not _has_operation(model, operation):
        return f"`{operation}` is not an operation of {model.title}"
    return f"`{operation}` does not apply to this type of entity in {model.title}"


def targets(state: State, selection: RealmSelection, text: str, home: str | None) -> list[Asset]:
    """The entity, in every realm that may have it, and all entities linked to it."""
    if home is not None and home not in selection.passing:
        raise Unknown("asset", text, "none of the realms that you may query contains it")
    starts = (
        candidate_assets(state, selection, text) if home is None else [asset(state, (home, text))]
    )
    return sorted({same for start in starts for same in state.links.same(start, selection.passing)})


def candidate_assets(state: State, selection: RealmSelection, text: str) -> list[Asset]:
    """The entity that the text names, in each selected realm that may have it.

    If none may have it, in each realm that the caller could ask: links lead from there to others.
    The result does not depend on what is stored. Raises `BadInput` or `Unknown` if none may have
    it.
    """
    error: BadInput | Unknown | None = None
    for realms in (selection.realms, sorted(selection.passing)):
        assets: list[Asset] = []
        for name in realms:
            try:
                assets.append(asset(state, (name, text)))
            except (BadInput, Unknown) as refusal:
                error = refusal
        if assets:
            return assets
    if error is not None and len(selection.passing) == 1:
        raise error
    expected = ", ".join(sorted(selection.passing)) or "none"
    raise Unknown(
        "asset", text, f"no realm that you may query can contain it; expected one of: {expected}"
    )


def listing_questions(
    state: State, selection: RealmSelection, operation: str
) -> CrossRealmQuestion:
    """Like `split_by_realm`, for listings: a level means all operations that its model declares."""
    units: list[RealmQuestion] = []
    silent: list[InapplicableRealm] = []
    for name in selection.realms:
        model = state.realm(name).system.model
        names = model.access.get(operation, ()) if operation in WAYS else (operation,)
        realm_questions = [
            RealmQuestion(name, name_of_operation, None, operation)
            for name_of_operation in names
            if _has_operation(model, name_of_operation)
        ]
        units += realm_questions
        if not realm_questions:
            silent.append(InapplicableRealm(name, _inapplicable_reason(model, operation)))
    if selection.realms and not units:
        raise Unknown("operation or privilege", operation, "none of the realms contains it")
    return CrossRealmQuestion(selection, tuple(units), tuple(silent))


def text_of_realm(text: QuestionText, unit: RealmQuestion) -> QuestionText:
    """The question for one realm, with the realm's names of the operation and the entity."""
    entity = unit.entity
    name = None if entity is None or entity == NO_RESOURCE else str(entity)
    return replace(text, operation=unit.operation, entity=name)


# Who, list and explain


@dataclass(frozen=True, slots=True)
class RealmAnswer(Generic[T]):
    """The answer of one realm to its part, with remarks."""

    unit: RealmQuestion
    result: T
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class CrossRealmAnswers(Generic[T]):
    """All answers; realms to which the question does not apply, and those left out."""

    each: tuple[RealmAnswer[T], ...]
    silent: tuple[InapplicableRealm, ...]
    left_out: tuple[str, ...]


AskRealm = Callable[[QuestionText, str], AuthorizedQuestion | Denied]
"""Asks a realm the question in the text."""


def _each(
    spread: CrossRealmQuestion,
    text: QuestionText,
    ask: AskRealm,
    find: Callable[[AuthorizedQuestion], T],
) -> CrossRealmAnswers[T]:
    answers: list[RealmAnswer[T]] = []
    silent = list(spread.silent)
    for unit in spread.units:
        try:
            question = ask(text_of_realm(text, unit), unit.realm)
            if isinstance(question, Denied):
                raise AssertionError("a realm was asked that was to be left out")
            answers.append(RealmAnswer(unit, find(question), question.notes))
        except (BadInput, Unknown) as error:
            silent.append(InapplicableRealm(unit.realm, str(error)))
    return CrossRealmAnswers(tuple(answers), tuple(silent), spread.selection.left_out)


def who(
    state: State,
    actor: Actor,
    text: QuestionText,
    now: float,
    names: Sequence[str] | None = None,
    home: str | None = None,
) -> CrossRealmAnswers[tuple[Principal, ...]] | Denied:
    """Who may do it, by realm: on the entity, and on entities linked to it."""
    search = "subject.search"
    where = selected_realms(state, actor, names, now, right(state, actor, now, search), search)
    if isinstance(where, Denied):
        return where
    asking = split_by_realm(state, where, text.operation, text.entity, home)
    return _each(
        asking,
        text,
        lambda realm_text, realm: questions.who(state, actor, realm, realm_text, now),
        lambda question: tuple(questions.users(question)),
    )


def realms_by_person(
    state: State, answers: CrossRealmAnswers[tuple[Principal, ...]]
) -> dict[str, tuple[str, ...]]:
    """By person, sorted: the realms whose answers include the person."""
    realms: dict[str, set[str]] = {}
    for answer in answers.each:
        system = state.realm(answer.unit.realm).system
        for principal in answer.result:
            realms.setdefault(person(system, principal), set()).add(answer.unit.realm)
    return {name: tuple(sorted(realms[name])) for name in sorted(realms)}


def listing(
    state: State,
    actor: Actor,
    text: QuestionText,
    now: float,
    names: Sequence[str] | None = None,
    *,
    size: int,
    after: Mapping[tuple[str, str], str] | None = None,
) -> CrossRealmAnswers[Page] | Denied:
    """The entities on which a principal may do it, by realm; a page for each.

    `after` is the start of the page by realm and operation; if given, nothing else is listed.
    """
    may = _right_to_ask(state, actor, text, now, "decision")
    where = selected_realms(state, actor, names, now, may, "decision.ask")
    if isinstance(where, Denied):
        return where
    asking = listing_questions(state, where, text.operation)
    if after is not None:
        units = tuple(u for u in asking.units if (u.realm, u.operation) in after)
        asking = replace(asking, units=units)

    def ask(realm_text: QuestionText, realm: str) -> AuthorizedQuestion | Denied:
        return questions.ask(state, actor, realm, realm_text, now)

    def find(question: AuthorizedQuestion) -> Page:
        at = (question.realm.realm.name, question.request.operation)
        return questions.listing(question, size, None if after is None else after.get(at))

    return _each(asking, text, ask, find)


def explain(
    state: State,
    actor: Actor,
    text: QuestionText,
    now: float,
    names: Sequence[str] | None = None,
    home: str | None = None,
) -> CrossRealmAnswers[Reasons] | Denied:
    """Explains the decision by realm, as far as the caller may see."""
    may = _right_to_ask(state, actor, text, now, "explain")
    where = selected_realms(state, actor, names, now, may, "explain.ask")
    if isinstance(where, Denied):
        return where
    asking = split_by_realm(state, where, text.operation, text.entity, home)

    def ask(realm_text: QuestionText, realm: str) -> AuthorizedQuestion | Denied:
        own, other = "explain.ask_own", "explain.ask"
        return questions.ask(state, actor, realm, realm_text, now, own=own, other=other)

    return _each(asking, text, ask, lambda question: questions.reasons(state, actor, question))


def _right_to_ask(
    state: State, actor: Actor, text: QuestionText, now: float, operation: str
) -> May:
    own, other = f"{operation}.ask_own", f"{operation}.ask"
    return right_to_ask(state, actor, text, now, own=own, other=other)
