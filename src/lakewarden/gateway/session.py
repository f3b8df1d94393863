"""Sessions of users: current catalog and database, temporary views, running operations."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

from pyspark.sql.connect.proto import relations_pb2 as relations

from lakewarden.gateway.errors import Denied, Malformed
from lakewarden.gateway.following import Following

MAX_SESSIONS: Final = 10_000
MAX_SESSIONS_OF_USER: Final = 100
MAX_VIEWS: Final = 1_000
MAX_VIEW_BYTES: Final = 256 * 1024 * 1024
"""The size limit of all views of a session."""

MAX_OPERATIONS: Final = 1_000


@dataclass(frozen=True, slots=True)
class NewView:
    """A temporary view that exists once Spark has created it."""

    name: str
    plan: relations.Relation


@dataclass(slots=True)
class Session:
    """One session of one user. `first_catalog` is Spark's current catalog, whatever is used here.

    `views` are temporary views: plans with complete names and without other views, as the user
    wrote them, so each read is checked and limited when it happens. `operations` are the started
    ones, by id, with the plan that the response to a statement must contain; `refused` are ids of
    denied ones. `following` is what the realm must record once an operation is done.
    """

    catalog: str
    database: str
    first_catalog: str
    views: dict[str, relations.Relation] = field(default_factory=dict)
    operations: OrderedDict[str, relations.Relation | None] = field(default_factory=OrderedDict)
    refused: OrderedDict[str, None] = field(default_factory=OrderedDict)
    following: dict[str, Following] = field(default_factory=dict)
    lock: threading.Lock = field(default_factory=threading.Lock)

    def qualified(self, names: Sequence[str]) -> tuple[str, ...]:
        """The complete name of a table: catalog, database, table. Raises `Denied`."""
        match names:
            case [table]:
                return self.catalog, self.database, table
            case [database, table]:
                return self.catalog, database, table
            case [catalog, database, table]:
                return catalog, database, table
            case _:
                raise Denied("a name of a table has at most three parts")

    def qualified_schema(self, names: Sequence[str]) -> tuple[str, str]:
        """The complete name of a schema: catalog, database; without parts, the current one.

        Raises `Denied`.
        """
        match names:
            case []:
                return self.catalog, self.database
            case [database]:
                return self.catalog, database
            case [catalog, database]:
                return catalog, database
            case _:
                raise Denied("a name of a schema has at most two parts")

    def keep_view(self, name: str, plan: relations.Relation) -> None:
        """Adds or replaces a view; raises `Malformed` if views are too many or too large."""
        with self.lock:
            others = sum(one.ByteSize() for key, one in self.views.items() if key != name)
            if others + plan.ByteSize() > MAX_VIEW_BYTES or len(self.views) >= MAX_VIEWS:
                raise Malformed("the session has too many temporary views")
            self.views[name] = plan

    def started(
        self,
        operation: str,
        answer: relations.Relation | None,
        following: Following | None = None,
    ) -> None:
        """Binds the operation to this session; raises `Denied` for an id that is in use."""
        with self.lock:
            if operation in self.operations:
                raise Denied("the operation id is in use")
            self.operations[operation] = answer
            if following is not None:
                self.following[operation] = following
            if len(self.operations) > MAX_OPERATIONS:
                forgotten, _ = self.operations.popitem(last=False)
                self.following.pop(forgotten, None)

    def follows(self, operation: str) -> bool:
        """Whether the realm must record the operation's effects once it is done."""
        with self.lock:
            return operation in self.following

    def take_following(self, operation: str) -> Following | None:
        """What the realm must record about the operation; returns it only once."""
        with self.lock:
            return self.following.pop(operation, None)

    def refuse(self, operation: str) -> None:
        """Remembers a denied operation: a client releases it all the same."""
        with self.lock:
            if operation and operation not in self.operations:
                self.refused[operation] = None
                if len(self.refused) > MAX_OPERATIONS:
                    self.refused.popitem(last=False)

    def was_refused(self, operation: str) -> bool:
        """Whether the operation was denied, and never started."""
        with self.lock:
            return operation in self.refused and operation not in self.operations

    def answer_of(self, operation: str) -> relations.Relation | None:
        """The plan of a started operation; raises `Denied` if this session did not start it."""
        with self.lock:
            if operation not in self.operations:
                raise Denied("this session has no such operation")
            return self.operations[operation]


class Sessions:
    """All sessions, each by its user and its id: nobody can access another user's session."""

    def __init__(self, catalog: str, database: str) -> None:
        self._catalog, self._database = catalog, database
        self._lock = threading.Lock()
        self._sessions: OrderedDict[tuple[str, str], Session] = OrderedDict()

    def of(self, user: str, id: str) -> Session:
        """The session, opened if needed. Beyond the limit, the user's oldest one is removed."""
        with self._lock:
            session = self._sessions.get((user, id))
            if session is None:
                self._evict(user)
                session = Session(self._catalog, self._database, self._catalog)
                self._sessions[(user, id)] = session
            self._sessions.move_to_end((user, id))
            return session

    def _evict(self, user: str) -> None:
        own = [key for key in self._sessions if key[0] == user]
        if len(own) >= MAX_SESSIONS_OF_USER:
            del self._sessions[own[0]]
        elif len(self._sessions) >= MAX_SESSIONS:
            self._sessions.popitem(last=False)

    def end(self, user: str, id: str) -> None:
        """Forgets a session."""
        with self._lock:
            self._sessions.pop((user, id), None)
