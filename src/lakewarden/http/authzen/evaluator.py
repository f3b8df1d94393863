"""One caller's questions at one state: who may ask, what is meant, and what the answer is.

What is remembered between requests hangs on the state: a new one starts with nothing but the
callers' rights, and these only if the control realm is still the same. A key
names every input of what it leads to: the caller with all that the credential says, then the
realm of the address, the realm named, the action, the type and the look of the id.
"""

from __future__ import annotations

from array import array
from collections.abc import Mapping
from typing import Final

from lakewarden.http.authzen import answer, name_resolution, request_context
from lakewarden.http.authzen.asker import Asker, Rights, Sight, are_alike
from lakewarden.http.authzen.decision_cache import (
    CacheBudget,
    Moment,
    OperationCache,
    SubjectAnswers,
    column,
    seen,
)
from lakewarden.http.authzen.errors import Forbidden
from lakewarden.http.authzen.question import Asked
from lakewarden.http.exchange import Exchange
from lakewarden.kernel.errors import StaleSnapshot, Unknown, WardenError
from lakewarden.kernel.principal import USER, Principal
from lakewarden.kernel.request import Reason, Request
from lakewarden.names.identities import Look
from lakewarden.names.identities import look as look_of
from lakewarden.service.actor import Actor
from lakewarden.service.question_text import by_itself
from lakewarden.service.realm import CONTROL
from lakewarden.service.state import RealmState, State
from lakewarden.service.usage import Usage

MOST_ASKERS: Final = 10_000
"""Callers that are remembered."""

MOST_ANSWERS: Final = 500_000
"""Answers that are kept, over all callers; a subject in a column counts as twenty and more."""

MOST_NAMES: Final = 50_000
"""Names of entities whose classes are kept at hand, for each column that a caller uses."""

Caller = tuple[str, str, str | None, tuple[str, ...], str]


class EvaluatorCache:
    """What was worked out about one state; nothing of it is needed, all of it is quicker."""

    def __init__(self, state: State, before: EvaluatorCache | None = None) -> None:
        self.state = state
        self._rights: dict[Caller, Rights] = {}
        if before is not None and are_alike(before.state, state):
            self._rights = before._rights
        self.kept = CacheBudget()
        self._judges: dict[tuple[Caller, str], Evaluator] = {}
        self._columns: dict[tuple[str, str, str], OperationCache | None] = {}

    def evaluator(self, exchange: Exchange) -> Evaluator:
        """The judge of the caller's questions. Raises `StaleSnapshot`."""
        if not self.state.covers(exchange.now):
            raise StaleSnapshot("the state does not cover the moment of the request")
        caller = _caller(exchange.actor)
        key = (caller, exchange.realm)
        evaluator = self._judges.get(key)
        if evaluator is None:
            rights = self._rights.setdefault(caller, {})
            asker = Asker(self.state, exchange.actor, rights)
            evaluator = self._judges[key] = Evaluator(self, asker, exchange.realm, exchange.now)
        if len(self._rights) > MOST_ASKERS or self.kept.answers > MOST_ANSWERS:
            self._forget()
        return evaluator

    def _forget(self) -> None:
        self._judges.clear()
        self._rights.clear()
        self._columns.clear()
        self.kept = CacheBudget()

    def column(
        self, realm: RealmState, action: str, type: str, now: float
    ) -> OperationCache | None:
        """The column of an action on a type in a realm, if there is one."""
        key = (realm.realm.name, action, type)
        if key not in self._columns:
            moment = Moment(self.state.revision, now)
            found = column(realm, action, type, moment, self.kept)
            if found is None:
                # Words that no model has are not worth remembering.
                return None
            self._columns[key] = found
        return self._columns[key]


def _caller(actor: Actor) -> Caller:
    return actor.directory, actor.user, actor.realm, actor.groups, actor.credential


class CachedOperation:
    """A column as one caller may use it: the rows of those about whom the caller may ask.

    `rows`, what is `known` in them, and the realm's `names` are by the user as it was asked
    about; `classes` by the name of an entity, of those that were asked about. `own` is the
    caller as the realm spells it, and what it sees about itself; `others` what it sees about
    others. None: it may not ask, or not the short way.
    """

    __slots__ = (
        "_column", "_others", "_own", "classes", "index", "known", "names", "realm", "rows",
        "texts", "view",
    )  # fmt: skip

    def __init__(
        self,
        column: OperationCache,
        own: tuple[Principal, Sight | None] | None,
        others: Sight | None,
    ) -> None:
        self._column = column
        self._own = own
        self._others = others
        self.index = column.index
        self.view = column.view
        self.realm = column.realm.realm.name
        self.rows: dict[str, SubjectAnswers] = {}
        self.known: dict[str, array[int]] = {}
        self.texts = column.texts
        self.classes: dict[str, int] = {}
        self.names: dict[str, str] = {}

    def row(self, user: str) -> SubjectAnswers | None:
        """The user's row; None where its questions go the long way."""
        try:
            principal = name_resolution.principal(self._column.realm, USER, user)
        except Unknown:
            return None
        sight = self._others
        if self._own is not None and principal == self._own[0]:
            sight = self._own[1]
        if sight is None:
            return None
        self.names[user] = principal.name
        row = self.rows[user] = self._column.row(principal, sight=sight)
        self.known[user] = row.known
        return row

    def answer(self, user: str, name: str) -> bytes | None:
        """The answer about the user and the entity of that name; None: go the long way."""
        id = self.index.get(name)
        if id is None:
            return None
        number = self.view[id]
        if len(self.classes) >= MOST_NAMES:
            self.classes.clear()
        self.classes[name] = number
        row = self.rows.get(user) or self.row(user)
        return None if row is None else row.answer(id, number)


CachedOperations = tuple[CachedOperation | None, CachedOperation | None, CachedOperation | None]
"""The lanes of some words where the id is a URN, has a colon, or is plain."""

_LOOKS: Final = (Look.URN, Look.COLON, Look.PLAIN)
NO_CACHED_OPERATIONS: Final[CachedOperations] = (None, None, None)


class Evaluator:
    """The questions of one caller, asked at one address. `prefix` is the address's realm."""

    def __init__(self, cache: EvaluatorCache, asker: Asker, prefix: str, now: float) -> None:
        self.asker = asker
        self.revision = cache.state.revision
        self.prefix = None if prefix == CONTROL else prefix
        self._cache = cache
        self._now = now
        self._cached_operations: dict[tuple[str | None, str, str], CachedOperations] = {}

    # --- the short way ---

    def cached_operations(self, named: str | None, action: str, type: str) -> CachedOperations:
        """The lanes of questions with these words."""
        key = (named, action, type)
        cached_operations = self._cached_operations.get(key)
        if cached_operations is None:
            urn, colon, plain = (self._cached(named, action, type, look) for look in _LOOKS)
            cached_operations = (urn, colon, plain)
            if cached_operations != NO_CACHED_OPERATIONS:
                # Words that no model has are not worth remembering.
                self._cached_operations[key] = cached_operations
        return cached_operations

    def _cached(
        self, named: str | None, action: str, type: str, look: Look
    ) -> CachedOperation | None:
        realm = self._sole(named, type, look)
        if realm is None or realm.realm.name == CONTROL:
            return None
        column = self._cache.column(realm, action, type, self._now)
        if column is None:
            return None
        name, now, asker = realm.realm.name, self._now, self.asker
        asks_others = asker.may("decision.ask", name, now)
        others = asker.sight(name, now, own=False) if asks_others else None
        own = asker.own(realm)
        if own is None:
            return CachedOperation(column, None, others)
        asks = asks_others or asker.may("decision.ask_own", name, now)
        seen = asker.sight(name, now, own=True) if asks and not asker.groups else None
        return CachedOperation(column, (own, seen), others)

    def _sole(self, named: str | None, type: str, look: Look) -> RealmState | None:
        """The one realm that a question with these words can be about, or None."""
        if type == name_resolution.PLATFORM:
            return None
        if named is None and self.prefix is None:
            return name_resolution.sole(self.asker.realms(self._now), type, look)
        try:
            return self.realm(named, type, "", "")
        except WardenError:
            return None

    # --- the long way ---

    def realm(self, named: str | None, type: str, id: str, action: str) -> RealmState:
        """The realm that is named, in the address or the question, or else fits.

        Raises `Forbidden`, `Unknown` and `BadInput`.
        """
        if self.prefix is not None and named not in (None, self.prefix):
            raise Forbidden(f"there is no realm `{named}` below `/r/{self.prefix}`")
        name = named or self.prefix
        if name is not None:
            return self.asker.realm(name, self._now)
        return name_resolution.realm_of(self.asker.realms(self._now), type, id, action)

    def realm_of_type(self, named: str | None, type: str, action: str) -> RealmState:
        """The realm of a search for resources of a type. Raises as `realm`."""
        if named is None and self.prefix is None:
            return name_resolution.realm_of_type(self.asker.realms(self._now), type, action)
        return self.realm(named, type, "", action)

    def check(self, realm: RealmState, principal: Principal) -> bool:
        """Whether the caller asks about itself; `Forbidden` where it may not ask at all."""
        own = principal == self.asker.own(realm)
        name = realm.realm.name
        if own and self.asker.may("decision.ask_own", name, self._now):
            return True
        if not self.asker.may("decision.ask", name, self._now):
            raise Forbidden(
                f"asking about others in the realm `{name}` takes the right of an enforcement point"
            )
        return own

    def request(self, asked: Asked, realm: RealmState, now: float) -> tuple[Request, bool]:
        """The question as the realm decides it, and whether it is about the caller itself.

        Raises `Forbidden`, `Unknown`, `BadInput` and `LimitExceeded`.
        """
        principal = name_resolution.principal(realm, asked.kind, asked.who)
        own = self.check(realm, principal)
        if asked.action:
            realm.matrix.operation(asked.action)
        target = name_resolution.entity(realm, asked.type, asked.id)
        request = Request(principal, asked.action, target, now)
        if own and realm.realm.name == CONTROL:
            return self.asker.rights_request(request), own
        groups = self.asker.groups if own else ()
        if groups or not request_context.brings_nothing(asked, realm):
            trusted = self.asker.may("decision.ask", realm.realm.name, now)
            request = request_context.with_parts(
                request, asked, realm, trusted=trusted, groups=groups
            )
        return request, own

    def evaluated(self, asked: Asked, now: float) -> bytes:
        """The answer, found the long way; a no for what is not known.

        Raises `Forbidden` and `BadInput`: these concern the call, not the decision.
        """
        try:
            realm = self.realm(asked.realm, asked.type, asked.id, asked.action)
            request, own = self.request(asked, realm, now)
            decision = realm.matrix.decide(request)
        except Unknown as error:
            return answer.failed(error, self.revision)
        name, reason = realm.realm.name, decision.reason
        if reason is Reason.NOT_STORED and not self.asker.sees(name, now):
            reason = Reason.DENIED
            statements: tuple[str, ...] = ()
        elif reason not in (Reason.ALLOWED, Reason.DENIED):
            statements = ()
        else:
            sight = self.asker.sight(name, now, own=own)
            told = sight is Sight.ALL or (sight is Sight.ALLOWING and decision.allow)
            statements = seen(realm.matrix, request, sight) if told else ()
        notes = () if decision.allow else by_itself(request.principal)
        return answer.evaluated(decision.allow, reason.value, statements, self.revision, notes)

    def answered(self, asked: Asked, now: float) -> bytes:
        """The answer, by the short way where there is one. Raises as `judged`."""
        cached = self._cached_of(asked)
        found = None if cached is None else cached.answer(asked.who, asked.id)
        return self.evaluated(asked, now) if found is None else found

    def counted(self, asked: Asked, now: float, usage: Usage) -> bytes:
        """The answer to a single question; a yes counts as used. Raises as `judged`."""
        cached = self._cached_of(asked)
        found = None if cached is None else cached.answer(asked.who, asked.id)
        if cached is not None and found is not None:
            if found.startswith(answer.ALLOWED_BYTES):
                # Names of the index are canonical.
                user = cached.names[asked.who]
                usage.count(cached.realm, user, asked.action, asked.type, asked.id, now)
            return found
        found = self.evaluated(asked, now)
        if found.startswith(answer.ALLOWED_BYTES):
            realm = self.realm(asked.realm, asked.type, asked.id, asked.action)
            user = name_resolution.principal(realm, asked.kind, asked.who).name
            on = name_resolution.entity(realm, asked.type, asked.id)
            usage.count(realm.realm.name, user, asked.action, on.type, on.name, now)
        return found

    def _cached_of(self, asked: Asked) -> CachedOperation | None:
        """The lane of a question about a user that brings nothing with it."""
        if asked.kind != USER or asked.context or asked.subject or asked.act:
            return None
        look = look_of(asked.id)
        if look is Look.EMPTY or (asked.resource and _adds(asked.resource)):
            return None
        return self.cached_operations(asked.realm, asked.action, asked.type)[look - 1]

    def item(self, asked: Asked, now: float) -> bytes:
        """The answer to one of several questions: a bad one is a no with its reason."""
        try:
            return self.answered(asked, now)
        except StaleSnapshot:
            raise
        except WardenError as error:
            return answer.failed(error, self.revision)


def _adds(properties: Mapping[str, object]) -> bool:
    return properties.keys() != {"realm"}
