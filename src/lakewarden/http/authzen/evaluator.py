"""Evaluates one caller's questions at one state: rights, names and decisions.

Everything that is cached between requests belongs to the state: a new state starts with only the
callers' rights, and with these only if the control realm is unchanged. A key contains every input
of its value: the caller with everything in the credential, then the realm of the address, the
realm in the question, the action, the type and the form of the id.

| cache             | one for each                               | finds                       |
|-------------------|--------------------------------------------|-----------------------------|
| `EvaluatorCache`  | state                                      | the evaluator of a caller   |
| `Evaluator`       | caller and realm of the address            | the operations of words     |
| `CallerOperation` | caller, and operation on a type of a realm | a subject's answers by name |
| `OperationCache`  | operation on a type of a realm             | the same by principal       |
| `SubjectAnswers`  | subject in an operation, and disclosure    | the answer by class         |
"""

from __future__ import annotations

from array import array
from collections.abc import Mapping
from typing import Final

from lakewarden.http.authzen import answer, name_resolution, request_context
from lakewarden.http.authzen.caller import Caller, Disclosure, Rights, are_alike
from lakewarden.http.authzen.decision_cache import (
    OperationCache,
    OperationCaches,
    SubjectAnswers,
    visible_statements,
)
from lakewarden.http.authzen.errors import Forbidden
from lakewarden.http.authzen.question import Question
from lakewarden.http.exchange import Exchange
from lakewarden.kernel.errors import StaleSnapshot, Unknown, WardenError
from lakewarden.kernel.principal import USER, Principal
from lakewarden.kernel.request import Reason, Request
from lakewarden.names.identities import IdForm, id_form
from lakewarden.service.actor import Actor
from lakewarden.service.question_text import by_itself
from lakewarden.service.realm import CONTROL
from lakewarden.service.state import RealmState, State
from lakewarden.service.usage import Usage

MOST_CALLERS: Final = 10_000
"""The most callers whose rights are cached."""

MOST_ANSWERS: Final = 500_000
"""The most cached answers, over all callers; the answers of a subject count as twenty and more."""

MOST_NAMES: Final = 50_000
"""The most names of entities whose classes are cached, for each operation that a caller uses."""

CallerKey = tuple[str, str, str | None, tuple[str, ...], str]


class EvaluatorCache:
    """Caches for one state."""

    def __init__(self, state: State, before: EvaluatorCache | None = None) -> None:
        self.state = state
        self._rights: dict[CallerKey, Rights] = {}
        if before is not None and are_alike(before.state, state):
            self._rights = before._rights
        self.operations = OperationCaches(state.revision)
        self._evaluators: dict[tuple[CallerKey, str], Evaluator] = {}

    def evaluator(self, exchange: Exchange) -> Evaluator:
        """The evaluator of the caller's questions. Raises `StaleSnapshot`."""
        if not self.state.covers(exchange.now):
            raise StaleSnapshot("the data does not cover the time of the request")
        caller_key = _caller_key(exchange.actor)
        key = (caller_key, exchange.realm)
        evaluator = self._evaluators.get(key)
        if evaluator is None:
            rights = self._rights.setdefault(caller_key, {})
            caller = Caller(self.state, exchange.actor, rights)
            evaluator = self._evaluators[key] = Evaluator(
                self.operations, caller, exchange.realm, exchange.now
            )
        if len(self._rights) > MOST_CALLERS or self.operations.budget.answers > MOST_ANSWERS:
            self._evict()
        return evaluator

    def _evict(self) -> None:
        self._evaluators.clear()
        self._rights.clear()
        self.operations.forget()


def _caller_key(actor: Actor) -> CallerKey:
    return actor.directory, actor.user, actor.realm, actor.groups, actor.credential


class CallerOperation:
    """An operation's cache for one caller: the subjects about whom the caller may ask.

    `subjects`, their answers by class (`known`) and the realm's `names` of them are by the name in
    the question, `classes` by the name of the entity. `own` is the caller in the realm's spelling,
    and what is disclosed to it about itself; `others` is the same about others. None: not
    answered from this cache.
    """

    __slots__ = (
        "_operation", "_others", "_own", "classes", "index", "known", "names", "realm",
        "short_texts", "subjects", "texts", "view",
    )  # fmt: skip

    def __init__(
        self,
        operation: OperationCache,
        own: tuple[Principal, Disclosure | None] | None,
        others: Disclosure | None,
    ) -> None:
        self._operation = operation
        self._own = own
        self._others = others
        self.index = operation.index
        self.view = operation.view
        self.realm = operation.realm.realm.name
        self.subjects: dict[str, SubjectAnswers] = {}
        self.known: dict[str, array[int]] = {}
        self.texts = operation.texts
        self.short_texts = operation.short_texts
        self.classes: dict[str, int] = {}
        self.names: dict[str, str] = {}

    def subject(self, user: str) -> SubjectAnswers | None:
        """The user's answers; None if its questions are not cached."""
        try:
            principal = name_resolution.principal(self._operation.realm, USER, user)
        except Unknown:
            return None
        disclosure = self._others
        if self._own is not None and principal == self._own[0]:
            disclosure = self._own[1]
        if disclosure is None:
            return None
        self.names[user] = principal.name
        answers = self.subjects[user] = self._operation.subject(principal, disclosure=disclosure)
        self.known[user] = answers.known
        return answers

    def answer(self, user: str, name: str) -> bytes | None:
        """The answer about the user and the entity of that name; None: it is not cached."""
        id = self.index.get(name)
        if id is None:
            return None
        number = self.view[id]
        if len(self.classes) >= MOST_NAMES:
            self.classes.clear()
        self.classes[name] = number
        answers = self.subjects.get(user) or self.subject(user)
        return None if answers is None else answers.answer(self._operation, id, number)


CallerOperations = tuple[CallerOperation | None, CallerOperation | None, CallerOperation | None]
"""The operations of some words for one caller: of URNs, of ids with a colon, and of plain ids."""

_ID_FORMS: Final = (IdForm.URN, IdForm.COLON, IdForm.PLAIN)
NO_OPERATIONS: Final[CallerOperations] = (None, None, None)


class Evaluator:
    """The questions of one caller at one address. `prefix` is the address's realm."""

    def __init__(
        self, operations: OperationCaches, caller: Caller, prefix: str, now: float
    ) -> None:
        self.caller = caller
        self.revision = operations.revision
        self.prefix = None if prefix == CONTROL else prefix
        self._operations = operations
        self._now = now
        self._caller_operations: dict[tuple[str | None, str, str], CallerOperations] = {}

    # --- from the caches ---

    def caller_operations(self, named: str | None, action: str, type: str) -> CallerOperations:
        """The operations of questions with these words."""
        key = (named, action, type)
        caller_operations = self._caller_operations.get(key)
        if caller_operations is None:
            urn, colon, plain = (
                self._caller_operation(named, action, type, form) for form in _ID_FORMS
            )
            caller_operations = (urn, colon, plain)
            if caller_operations != NO_OPERATIONS:
                # Words that no model has are not cached.
                self._caller_operations[key] = caller_operations
        return caller_operations

    def _caller_operation(
        self, named: str | None, action: str, type: str, form: IdForm
    ) -> CallerOperation | None:
        realm = self._only_realm(named, type, form)
        if realm is None or realm.realm.name == CONTROL:
            return None
        operation = self._operations.operation(realm, action, type, self._now)
        if operation is None:
            return None
        name, now, caller = realm.realm.name, self._now, self.caller
        asks_others = caller.may("decision.ask", name, now)
        others = caller.disclosure(name, now, own=False) if asks_others else None
        own = caller.own(realm)
        if own is None:
            return CallerOperation(operation, None, others)
        may_ask = asks_others or caller.may("decision.ask_own", name, now)
        to_itself = (
            caller.disclosure(name, now, own=True) if may_ask and not caller.groups else None
        )
        return CallerOperation(operation, (own, to_itself), others)

    def _only_realm(self, named: str | None, type: str, form: IdForm) -> RealmState | None:
        """The one realm that a question with these words can be about, or None."""
        if type == name_resolution.PLATFORM:
            return None
        if named is None and self.prefix is None:
            return name_resolution.only_realm(self.caller.realms(self._now), type, form)
        try:
            return self.realm(named, type, "", "")
        except WardenError:
            return None

    # --- by the matrix ---

    def realm(self, named: str | None, type: str, id: str, action: str) -> RealmState:
        """The realm named in the address or the question, otherwise the one that fits.

        Raises `Forbidden`, `Unknown` and `BadInput`.
        """
        if self.prefix is not None and named not in (None, self.prefix):
            raise Forbidden(f"there is no realm `{named}` below `/r/{self.prefix}`")
        name = named or self.prefix
        if name is not None:
            return self.caller.realm(name, self._now)
        return name_resolution.realm_of(self.caller.realms(self._now), type, id, action)

    def realm_of_type(self, named: str | None, type: str, action: str) -> RealmState:
        """The realm of a search for resources of a type. Raises as `realm`."""
        if named is None and self.prefix is None:
            return name_resolution.realm_of_type(self.caller.realms(self._now), type, action)
        return self.realm(named, type, "", action)

    def check(self, realm: RealmState, principal: Principal) -> bool:
        """Whether the caller asks about itself; `Forbidden` if it may not ask."""
        own = principal == self.caller.own(realm)
        name = realm.realm.name
        if own and self.caller.may("decision.ask_own", name, self._now):
            return True
        if not self.caller.may("decision.ask", name, self._now):
            raise Forbidden(
                f"a request about another principal in the realm `{name}` requires the"
                " privilege of an enforcement point"
            )
        return own

    def request(self, question: Question, realm: RealmState, now: float) -> tuple[Request, bool]:
        """The question as a request of the realm, and whether it is about the caller itself.

        Raises `Forbidden`, `Unknown`, `BadInput` and `LimitExceeded`.
        """
        principal = name_resolution.principal(realm, question.kind, question.who)
        own = self.check(realm, principal)
        if question.action:
            realm.matrix.operation(question.action)
        target = name_resolution.entity(realm, question.type, question.id)
        request = Request(principal, question.action, target, now)
        if own and realm.realm.name == CONTROL:
            return self.caller.rights_request(request), own
        groups = self.caller.groups if own else ()
        if groups or not request_context.has_no_parts(question, realm):
            trusted = self.caller.may("decision.ask", realm.realm.name, now)
            request = request_context.with_parts(
                request, question, realm, trusted=trusted, groups=groups
            )
        return request, own

    def evaluated(self, question: Question, now: float) -> bytes:
        """The answer by the matrix; a denial for what is not known.

        Raises `Forbidden` and `BadInput`: these concern the call, not the decision.
        """
        try:
            realm = self.realm(question.realm, question.type, question.id, question.action)
            request, own = self.request(question, realm, now)
            decision = realm.matrix.decide(request)
        except Unknown as error:
            return answer.failed(error, self.revision)
        name, reason = realm.realm.name, decision.reason
        if reason is Reason.NOT_STORED and not self.caller.sees(name, now):
            reason = Reason.DENIED
            statements: tuple[str, ...] = ()
        elif reason not in (Reason.ALLOWED, Reason.DENIED):
            statements = ()
        else:
            disclosure = self.caller.disclosure(name, now, own=own)
            is_disclosed = disclosure.covers(decision.allow)
            statements = (
                visible_statements(realm.matrix, request, disclosure) if is_disclosed else ()
            )
        notes = () if decision.allow else by_itself(request.principal)
        return answer.evaluated(decision.allow, reason.value, statements, self.revision, notes)

    def answered(self, question: Question, now: float) -> bytes:
        """The answer, from the caches if possible. Raises as `evaluated`."""
        cached = self._caller_operation_of(question)
        cached_answer = None if cached is None else cached.answer(question.who, question.id)
        return self.evaluated(question, now) if cached_answer is None else cached_answer

    def counted(self, question: Question, now: float, usage: Usage) -> bytes:
        """The answer to a single question; an allow counts as used. Raises as `evaluated`."""
        cached = self._caller_operation_of(question)
        cached_answer = None if cached is None else cached.answer(question.who, question.id)
        if cached is not None and cached_answer is not None:
            if cached_answer.startswith(answer.ALLOWED_BYTES):
                # Names of the index are canonical.
                user = cached.names[question.who]
                usage.count(cached.realm, user, question.action, question.type, question.id, now)
            return cached_answer
        cached_answer = self.evaluated(question, now)
        if cached_answer.startswith(answer.ALLOWED_BYTES):
            realm = self.realm(question.realm, question.type, question.id, question.action)
            user = name_resolution.principal(realm, question.kind, question.who).name
            on = name_resolution.entity(realm, question.type, question.id)
            usage.count(realm.realm.name, user, question.action, on.type, on.name, now)
        return cached_answer

    def _caller_operation_of(self, question: Question) -> CallerOperation | None:
        """The operation of a question about a user without further parts."""
        if question.kind != USER or question.context or question.subject or question.act:
            return None
        form = id_form(question.id)
        if form is IdForm.EMPTY or (question.resource and _adds(question.resource)):
            return None
        return self.caller_operations(question.realm, question.action, question.type)[form - 1]

    def item(self, question: Question, now: float) -> bytes:
        """The answer to one of several questions: a bad one is a denial with its reason."""
        try:
            return self.answered(question, now)
        except StaleSnapshot:
            raise
        except WardenError as error:
            return answer.failed(error, self.revision)


def _adds(properties: Mapping[str, object]) -> bool:
    return properties.keys() != {"realm"}
