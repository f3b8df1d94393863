"""The questions to a realm: check, batch, list, who, privileges, access and explain.

Callers may ask about themselves; asking about others requires a right over lakewarden. A caller who
may not see a realm's entities gets the same answer for hidden and for missing ones, and sees only
the statements and names that the answer requires.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from lakewarden.kernel.entity import NO_RESOURCE, Entity
from lakewarden.kernel.errors import BadInput, LimitExceeded, Unknown, WardenError
from lakewarden.kernel.explain import Explanation, Step, explain
from lakewarden.kernel.listing import Page, page
from lakewarden.kernel.principal import USER, Principal
from lakewarden.kernel.privileges import operations_of, privileges_of
from lakewarden.kernel.request import Decision, Reason, Request
from lakewarden.kernel.statement import On, Statement, Where
from lakewarden.kernel.who import who as who_may
from lakewarden.names.identities import URN
from lakewarden.service import control, question_text
from lakewarden.service.actor import Actor
from lakewarden.service.cancellation import checked
from lakewarden.service.control import Denied
from lakewarden.service.effective_read import ReadLimits, limits_notes, limits_of_read
from lakewarden.service.page_size import check_page_size
from lakewarden.service.question_text import QuestionText
from lakewarden.service.realm import CONTROL
from lakewarden.service.sentence import Phrase, Sentences
from lakewarden.service.state import RealmState, State
from lakewarden.service.statements import stored
from lakewarden.service.steps import step


@dataclass(frozen=True, slots=True)
class AuthorizedQuestion:
    """An authorized question: its realm, its text and its request.

    `sees_all`: the caller may see everything stored in the realm.
    """

    realm: RealmState
    text: QuestionText
    request: Request
    sees_all: bool

    @property
    def notes(self) -> tuple[str, ...]:
        """Remarks beside the answer, as far as the caller may know them."""
        system, matrix = self.realm.system, self.realm.matrix
        return question_text.remarks(self.text, self.request, system, matrix, stored=self.sees_all)


@dataclass(frozen=True, slots=True)
class HeldPrivileges:
    """The privileges held on an entity, and the operations allowed there; sorted."""

    privileges: tuple[str, ...]
    operations: tuple[str, ...]


_NOBODY: Final = Principal(USER, "")


@dataclass(frozen=True, slots=True)
class OperationAccess:
    """The users who may do an operation on an entity."""

    operation: str
    users: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Reasons:
    """An explanation, with the statements it names and their paths to the asker.

    `reaching` is, by statement, the path from the asker over groups and roles to a principal that
    it names; `notes` describe ALLOWs that have ended or not begun, and the `limits`: the filters
    and masks that apply when the target of an allowed request is read. `summary` is the answer as a
    sentence. `lifters` are, by DENY that a way lifts, the stored users who may revoke it; None if
    the model has no operation for that. `asker` is the principal that the question is about.
    """

    explanation: Explanation
    statements: tuple[Statement, ...]
    reaching: dict[str, tuple[Principal, ...]]
    notes: tuple[str, ...] = ()
    summary: tuple[Phrase, ...] = ()
    lifters: dict[str, tuple[Principal, ...] | None] = field(default_factory=dict)
    asker: Principal = _NOBODY
    limits: ReadLimits | None = None


class Rights:
    """The caller's rights to ask in a realm; each is decided once."""

    def __init__(self, state: State, actor: Actor, realm: str, now: float) -> None:
        self.state = state
        self.actor = actor
        self.realm = realm
        self.now = now
        self._known: dict[str, Denied | None] = {}

    def denial(self, operation: str) -> Denied | None:
        """None if the caller has the right, else the denial."""
        if operation not in self._known:
            self._known[operation] = control.denied_in(
                self.state, self.actor, operation, self.realm, self.now
            )
        return self._known[operation]

    @property
    def sees_all(self) -> bool:
        """Whether the caller may see everything that is stored in the realm."""
        return self.denial("entity.list") is None


def ask(
    state: State,
    actor: Actor,
    realm: str,
    text: QuestionText,
    now: float,
    *,
    own: str = "decision.ask_own",
    other: str = "decision.ask",
) -> AuthorizedQuestion | Denied:
    """The question, if the caller may ask it; without a principal it is about the caller.

    A question about the caller requires the operation `own`, and includes the groups of the
    caller's credential; one about another principal requires `other`. A caller who specifies groups
    asks about another principal. Raises `BadInput` and `Unknown` for unknown names.
    """
    return _ask(Rights(state, actor, realm, now), text, own, other)


def _ask(rights: Rights, text: QuestionText, own: str, other: str) -> AuthorizedQuestion | Denied:
    about_self = _is_about_self(rights, text)
    refused = rights.denial(own if about_self else other)
    if refused is not None:
        return refused
    realm_state = rights.state.realm(rights.realm)
    if not about_self:
        request = question_text.read(text, realm_state.system, realm_state.matrix, rights.now)
        return AuthorizedQuestion(realm_state, text, request, rights.sees_all)
    text = replace(text, principal=_own_text(rights.actor, realm_state))
    request = question_text.read(text, realm_state.system, realm_state.matrix, rights.now)
    return AuthorizedQuestion(
        realm_state, text, _with_caller_facts(rights, realm_state, request), rights.sees_all
    )


def _with_caller_facts(rights: Rights, realm_state: RealmState, request: Request) -> Request:
    """The request with the server's facts about the caller, which override those of the text."""
    state, actor, now = rights.state, rights.actor, rights.now
    if rights.realm == CONTROL:
        own_request = control.request(state, actor, request.operation, request.target, now)
        attributes = {**request.attributes, **own_request.attributes}
        return replace(
            request,
            principal=own_request.principal,
            groups=own_request.groups,
            attributes=attributes,
        )
    own_request = actor.request(realm_state.realm, realm_state.system, request.operation, now=now)
    return replace(request, groups=own_request.groups)


def _is_about_self(rights: Rights, text: QuestionText) -> bool:
    if text.principal is None:
        return not text.groups
    realm_state = rights.state.realms.get(rights.realm)
    # In an unknown realm, or one where the credential is invalid, no principal is the caller.
    if text.groups or realm_state is None or not rights.actor.is_valid_in(realm_state.realm):
        return False
    try:
        named = realm_state.system.principal(text.principal)
    except WardenError:
        return False
    return named == rights.actor.principal(realm_state.realm, realm_state.system)


def _own_text(actor: Actor, realm_state: RealmState) -> str:
    own = actor.principal(realm_state.realm, realm_state.system)
    return own.name if own.name.startswith(URN) else f"{own.kind}:{own.name}"


def check(question: AuthorizedQuestion) -> Decision:
    """The decision; a caller who does not see the realm learns only yes or no."""
    with step("decide"):
        return _recorded(question, question.realm.matrix.decide(question.request))


def _recorded(question: AuthorizedQuestion, decision: Decision) -> Decision:
    if decision.reason is Reason.NOT_STORED and not question.sees_all:
        return question.realm.matrix.snapshot.decisions[Reason.DENIED]
    return decision


def batch(
    state: State, actor: Actor, realm: str, rows: Sequence[QuestionText], now: float, limit: int
) -> list[Decision | WardenError] | Denied:
    """The decisions in order; an invalid question has its error in its place.

    If the caller may not ask one of the questions, the first such refusal is the whole answer.
    Raises `LimitExceeded` for more than `limit` rows, `BadInput` for none.
    """
    if not rows:
        raise BadInput("expected at least one question", where="questions")
    if len(rows) > limit:
        raise LimitExceeded(f"{len(rows)} questions, at most {limit} are allowed")
    answers: list[Decision | WardenError] = []
    rights = Rights(state, actor, realm, now)
    for text in checked(rows):
        try:
            question = _ask(rights, text, "decision.ask_own", "decision.ask")
            if isinstance(question, Denied):
                return question
            answers.append(check(question))
        except (BadInput, Unknown) as error:
            state.realm(realm)
            answers.append(error)
    return answers


def listing(
    question: AuthorizedQuestion,
    size: int,
    after: str | None = None,
    within: str | None = None,
    skip: int = 0,
) -> Page:
    """A page of the entities on which the operation is allowed, ordered by place.

    It starts after `after`, and skips `skip` entities.
    """
    check_page_size(size)
    system = question.realm.system
    start = None if after is None else system.entity(after)
    below = None if within is None else system.entity(within)
    with step("decide"):
        return page(
            question.realm.matrix, question.request, size, start, below, skip=skip, each=checked
        )


def who(
    state: State, actor: Actor, realm: str, text: QuestionText, now: float
) -> AuthorizedQuestion | Denied:
    """The question who may do something, if the caller may ask it."""
    rights = Rights(state, actor, realm, now)
    return rights.denial("subject.search") or _question_of_all(rights, text)


def users(question: AuthorizedQuestion) -> list[Principal]:
    """The stored users who are allowed, sorted."""
    with step("decide"):
        return sorted(who_may(question.realm.matrix, question.request))


def held_privileges(question: AuthorizedQuestion) -> HeldPrivileges:
    """The privileges that the asker holds on the entity, and the operations allowed there."""
    matrix = question.realm.matrix
    return HeldPrivileges(
        privileges_of(matrix, question.request), operations_of(matrix, question.request)
    )


def access(
    state: State, actor: Actor, realm: str, entity: str | None, now: float
) -> list[OperationAccess] | Denied:
    """The users who are allowed, for each operation on such an entity."""
    rights = Rights(state, actor, realm, now)
    refused = rights.denial("entity.access")
    if refused is not None:
        return refused
    question = _question_of_all(rights, QuestionText(entity=entity))
    matrix, target = question.realm.matrix, question.request.target
    type = target.type if target != NO_RESOURCE else ""
    return [
        OperationAccess(
            name, tuple(p.name for p in sorted(who_may(matrix, _of(question.request, name))))
        )
        for name, declared in checked(question.realm.system.model.operations.items(), every=1)
        if declared.rule_or_none(type) is not None
    ]


def _question_of_all(rights: Rights, text: QuestionText) -> AuthorizedQuestion:
    realm_state = rights.state.realm(rights.realm)
    request = question_text.read(text, realm_state.system, realm_state.matrix, rights.now)
    return AuthorizedQuestion(realm_state, text, request, rights.sees_all)


def _of(request: Request, operation: str) -> Request:
    return replace(request, operation=operation)


# Explanations


def reasons(state: State, actor: Actor, question: AuthorizedQuestion) -> Reasons:
    """The decision and its reasons, as far as the caller may see them.

    A caller who sees the realm gets everything. Any other caller sees only statements that reach
    the asker, the target and its ancestors. If nothing is allowed on the target, such a caller
    learns only that it is denied, the same as for a missing target.
    """
    with step("explain"):
        explanation = explain(question.realm.matrix, question.request)
    named = _statements(question, explanation)
    notes: tuple[str, ...] = ()
    if question.sees_all and _may_read_statements(state, actor, question):
        notes = question_text.validity_notes(question.realm.matrix, question.request)
    else:
        explanation = _redacted(question, explanation, actor)
        named = [
            _narrowed(question, statement)
            for statement in _statements(question, explanation)
            if is_plain(statement)
        ]
    chains = (
        (s.id, question_text.membership_path(question.realm.matrix, question.request, s))
        for s in named
    )
    reaching = {id: chain for id, chain in chains if chain is not None}
    summary = Sentences(question.realm).answer(question.request, explanation, named)
    limits = limits_of_read(question.realm.matrix, question.request)
    return Reasons(
        explanation,
        tuple(named),
        reaching,
        (*notes, *limits_notes(limits, question.request.principal)),
        tuple(summary),
        _revokers(question, explanation, named),
        question.request.principal,
        limits,
    )


def _revokers(
    question: AuthorizedQuestion, explanation: Explanation, named: Sequence[Statement]
) -> dict[str, tuple[Principal, ...] | None]:
    lifted = {id for way in explanation.ways for id in way.lifted}
    return {
        statement.id: _principals_who_may_revoke(question, statement)
        for statement in named
        if statement.id in lifted
    }


def _principals_who_may_revoke(
    question: AuthorizedQuestion, statement: Statement
) -> tuple[Principal, ...] | None:
    """The principals who may grant, and therefore revoke, everything that the statement grants."""
    matrix = question.realm.matrix
    model, scope = matrix.snapshot.model, statement.scope
    if model.granting is None or not isinstance(scope, On):
        return None
    if model.operation(model.granting).rule_or_none(scope.entity.type) is None:
        return None
    request = Request(
        question.request.principal, model.granting, scope.entity, question.request.now
    )
    return tuple(sorted(who_may(matrix, request)))


def _may_read_statements(state: State, actor: Actor, question: AuthorizedQuestion) -> bool:
    name = question.realm.realm.name
    return control.denied_in(state, actor, "statement.list", name, question.request.now) is None


def _redacted(question: AuthorizedQuestion, explanation: Explanation, actor: Actor) -> Explanation:
    """The explanation without parts that the caller may not see."""
    if not explanation.decision.allow and not _is_visible(question, actor):
        return Explanation(_recorded(question, _plain_denial(question)), None, (), ())
    visible = {question.request.target, NO_RESOURCE, *_above(question)}
    rule = None if explanation.rule is None else _pruned(explanation.rule, visible)
    ids = () if rule is None else tuple(sorted(set(_ids(rule))))
    ways = tuple(
        replace(way, opens=(), others=None)
        for way in explanation.ways
        if not way.joins and all(need.entity in visible for need in way.needs)
    )
    return Explanation(_recorded(question, explanation.decision), rule, ids, ways)


def _plain_denial(question: AuthorizedQuestion) -> Decision:
    return question.realm.matrix.snapshot.decisions[Reason.DENIED]


def _is_visible(question: AuthorizedQuestion, actor: Actor) -> bool:
    """Whether the caller is allowed anything on the target, so its existence is no secret."""
    if question.request.target == NO_RESOURCE or not question.request.target.name:
        return True
    realm = question.realm
    if not actor.is_valid_in(realm.realm):
        return False
    own = actor.request(
        realm.realm, realm.system, "", question.request.target, now=question.request.now
    )
    return bool(operations_of(realm.matrix, own))


def _above(question: AuthorizedQuestion) -> list[Entity]:
    coded = question.realm.matrix.snapshot.coded
    target = question.request.target
    return list(coded.ancestors(target)) if target != NO_RESOURCE else []


def _pruned(step: Step, visible: set[Entity]) -> Step:
    """The step without entities that are not visible to the caller."""
    if step.entity is not None and step.entity not in visible:
        return Step("an object that you may not see", step.holds, None)
    inner = tuple(_pruned(inner_step, visible) for inner_step in step.steps)
    return replace(step, steps=inner)


def _ids(step: Step) -> list[str]:
    return [*step.allowed_by, *step.denied_by, *(id for inner in step.steps for id in _ids(inner))]


def is_plain(statement: Statement) -> bool:
    """Whether the scope of the statement names no other entities."""
    return not isinstance(statement.scope, Where) and statement.constraint is None


def _narrowed(question: AuthorizedQuestion, statement: Statement) -> Statement:
    """The statement, reduced to the principals that the asker acts as."""
    acts_as = question.realm.matrix.subject(question.request).named
    return replace(statement, principals=statement.principals & acts_as)


def _statements(question: AuthorizedQuestion, explanation: Explanation) -> list[Statement]:
    statements = stored(question.realm)
    ids = {*explanation.statements, *(() if explanation.rule is None else _ids(explanation.rule))}
    return [statements[id] for id in sorted(ids) if id in statements]
