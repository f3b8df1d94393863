"""The calls of Spark Connect: authentication, authorization, and responses.

Every failure denies. No detail of an unexpected error reaches the client.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, Final, NoReturn

import grpc
import structlog
from pyspark.sql.connect.proto import base_pb2 as base
from pyspark.sql.connect.proto import relations_pb2 as relations

from lakewarden.authn import header
from lakewarden.authn.authenticator import Authenticator, Unauthenticated, named
from lakewarden.config.engines import SparkRealm
from lakewarden.engines.mapping import ON
from lakewarden.gateway.access import ENGINE, Access
from lakewarden.gateway.backend import SERVICE, Backend
from lakewarden.gateway.backend_errors import FETCH, deny, end_with, shown_details
from lakewarden.gateway.call_record import DONE, CallRecord
from lakewarden.gateway.config_calls import check_config
from lakewarden.gateway.errors import Denied, Malformed, NoCredentials, TooManyCalls
from lakewarden.gateway.following import Following, NotFollowed, is_complete, is_reattachable
from lakewarden.gateway.inspection import parsed
from lakewarden.gateway.plans import Plans
from lakewarden.gateway.running_calls import RunningCalls
from lakewarden.gateway.session import Session, Sessions
from lakewarden.http.engine_figures import UNKNOWN, decided, timed
from lakewarden.kernel.errors import Unavailable, Unknown, WardenError
from lakewarden.service.actor import Actor
from lakewarden.service.audit import AuditEvent
from lakewarden.service.decision_service import DecisionService
from lakewarden.service.denials import Denials
from lakewarden.service.state import RealmState
from lakewarden.service.steps import Steps, recording
from lakewarden.service.usage import Usage
from lakewarden.service.write_transaction import WriteTransaction

if TYPE_CHECKING:
    from lakewarden.telemetry.span_sender import SpanSender

_UNKNOWN: Final = f"{ENGINE}.unknown"
"""The operation in the audit trail for calls that are denied to everybody."""

_SHOWN: Final = 200
_log = structlog.get_logger("lakewarden.gateway")

UNARY: Final = {
    "AnalyzePlan": base.AnalyzePlanRequest,
    "Config": base.ConfigRequest,
    "Interrupt": base.InterruptRequest,
    "ReleaseExecute": base.ReleaseExecuteRequest,
    "ReleaseSession": base.ReleaseSessionRequest,
    FETCH: base.FetchErrorDetailsRequest,
    "GetStatus": base.GetStatusRequest,
}
"""Calls with one response. Calls that are in no list here are denied."""

STREAMS: Final = {
    "ExecutePlan": base.ExecutePlanRequest,
    "ReattachExecute": base.ReattachExecuteRequest,
}
DENIED: Final = ("AddArtifacts", "ArtifactStatus", "CloneSession")


@dataclass
class Call:
    """One call of an authenticated user, with the state that decides about it."""

    actor: Actor
    realm: RealmState
    session: Session
    request: Any
    backend: Backend
    settings: SparkRealm
    now: float

    @cached_property
    def access(self) -> Access:
        """The access of the user."""
        mapping = self.realm.system.engines[ENGINE]
        return Access(self.realm, mapping, self.settings, self.actor, self.now)

    def plans(self) -> Plans:
        """The converter of this call's plans into plans that Spark may get."""
        request = self.request
        columns = partial(self.backend.columns, request.user_context, request.session_id)
        rows = partial(self.backend.rows, request.user_context, request.session_id)
        return Plans(self.session, self.access, columns, rows)


_READS: Final = frozenset(
    {"OpenSession", "UseCatalog", "UseSchema", "ListTables", "DescribeTable", "SelectFromTable"}
)
"""Acts that are counted, but not recorded in the audit trail."""


def _record(transaction: WriteTransaction, events: Sequence[AuditEvent]) -> None:
    for event in events:
        transaction.record(event)


class Gateway(grpc.GenericRpcHandler):  # type: ignore[misc]  # gRPC has no types
    """Handles the calls of all users."""

    def __init__(
        self,
        service: DecisionService,
        authenticator: Authenticator,
        backend: Backend,
        realm: str,
        settings: SparkRealm,
        spans: SpanSender | None = None,
    ) -> None:
        self._service = service
        self._authenticator = authenticator
        self._backend = backend
        self._realm = realm
        self._settings = settings
        self._spans = spans
        self._sessions = Sessions(settings.catalog, settings.database)
        self._denials = Denials()
        self._running = RunningCalls()
        self.usage = Usage()

    def check(self) -> None:
        """Raises `BadInput`, `Unknown` or `Unavailable` if the realm serves no Spark."""
        self._realm_state()

    def service(self, details: grpc.HandlerCallDetails) -> grpc.RpcMethodHandler | None:
        """The handler of a call. A call that no release knows has none, and gRPC denies it."""
        service, _, method = details.method.removeprefix("/").partition("/")
        if service != SERVICE:
            return None
        if method in UNARY:
            return grpc.unary_unary_rpc_method_handler(partial(self._unary, method))
        if method in STREAMS:
            return grpc.unary_stream_rpc_method_handler(partial(self._stream, method))
        if method in DENIED:
            return grpc.stream_unary_rpc_method_handler(partial(self._refuse, method))
        return None

    @contextmanager
    def _recorded(self, method: str, context: grpc.ServicerContext) -> Iterator[CallRecord]:
        """The record of a call, which is sent as a span at its end if there are traces."""
        record = CallRecord(method, None if self._spans is None else Steps())
        try:
            yield record
        finally:
            if self._spans is not None:
                record.send(self._spans, self._realm, context)

    def _refuse(self, method: str, _: Iterator[bytes], context: grpc.ServicerContext) -> bytes:
        def refused() -> NoReturn:
            actor = self._actor(context, self._realm_state(record))
            raise self._denied(actor, Denied(f"`{method}` is not permitted"))

        with self._recorded(method, context) as record:
            answer: bytes = self._outcome(record, context, refused)
            return answer

    def _unary(self, method: str, data: bytes, context: grpc.ServicerContext) -> bytes:
        def answered() -> bytes:
            call = self._call(record, UNARY[method], data, context)
            if method == "ReleaseExecute" and call.session.was_refused(call.request.operation_id):
                return _released(call.request)
            self._permit_or_audit(method, call)
            answer = self._backend.unary(method, call.request, _seconds(context))
            if method == "ReleaseSession":
                self._sessions.end(call.actor.user, call.request.session_id)
                for following in call.session.following.values():
                    _log_unfollowed(following)
            return shown_details(answer) if method == FETCH else answer

        with self._recorded(method, context) as record:
            answer: bytes = self._outcome(record, context, answered)
            return answer

    def _stream(self, method: str, data: bytes, context: grpc.ServicerContext) -> Iterator[bytes]:
        with self._recorded(method, context) as record, ExitStack() as running:
            call, answers = self._outcome(
                record, context, lambda: self._started(record, data, context, running)
            )
            context.add_callback(answers.cancel)
            plan = call.session.answer_of(call.request.operation_id)
            try:
                with record.streaming():
                    for answer in self._followed(method, call, answers):
                        yield answer if plan is None else named_plan(answer, plan)
            except NotFollowed as error:
                record.end("undecided")
                deny(context, grpc.StatusCode.PERMISSION_DENIED, str(error))
            except grpc.RpcError as error:
                record.end("failed")
                end_with(context, error)

    def _followed(self, method: str, call: Call, answers: Any) -> Iterator[bytes]:
        """The responses; the realm records effects before the response that reports success.

        Raises `NotFollowed` if that fails.
        """
        session, operation = call.session, call.request.operation_id
        if not session.follows(operation):
            yield from answers
            return
        goes_on = method != "ExecutePlan" or is_reattachable(call.request)
        is_over = False
        try:
            for answer in answers:
                if is_complete(answer):
                    self._follow(session, operation)
                yield answer
            if not goes_on:
                self._follow(session, operation)
            is_over = True
        except grpc.RpcError:
            session.take_following(operation)  # the operation failed
            raise
        finally:
            # The client disconnected before the end; another stream may still report it.
            left = None if is_over or goes_on else session.take_following(operation)
            if left is not None:
                _log_unfollowed(left)

    def _follow(self, session: Session, operation: str) -> None:
        following = session.take_following(operation)
        if following is not None:
            try:
                following.write(self._service, self._realm)
            except NotFollowed:
                _log_unfollowed(following)
                raise

    def _started(
        self, record: CallRecord, data: bytes, context: grpc.ServicerContext, running: ExitStack
    ) -> tuple[Call, Any]:
        method = record.method
        call = self._call(record, STREAMS[method], data, context)
        running.enter_context(self._running.counted(call.actor.user))
        self._permit_or_audit(method, call)
        answers = self._backend.stream(method, call.request, _seconds(context))
        return call, answers

    def _permit_or_audit(self, method: str, call: Call) -> None:
        try:
            with timed(ENGINE):
                self._permit(method, call)
        except Denied as error:
            if method == "ExecutePlan":
                call.session.refuse(call.request.operation_id)
            if not error.operation:
                decided(ENGINE, UNKNOWN, denied=1)
            raise self._denied(call.actor, error) from None

    def _permit(self, method: str, call: Call) -> None:
        """Raises `Denied` for a call that is not permitted; otherwise rewrites the request."""
        request = call.request
        match method:
            case "ExecutePlan":
                self._permit_execution(call)
            case "AnalyzePlan":
                call.plans().analyze(request)
            case "Config":
                check_config(request.operation)
            case "ReattachExecute" | "ReleaseExecute":
                call.session.answer_of(request.operation_id)
            case _:
                pass

    def _permit_execution(self, call: Call) -> None:
        request, plans = call.request, call.plans()
        plans.execute(request)
        context = request.user_context, request.session_id
        plans.check_analyzed(request, partial(self._backend.explained, *context))
        is_query = request.plan.command.HasField("sql_command") and plans.answer is not None
        if not is_query:  # Spark does not execute a query yet
            self._note_used(call)
        if not request.operation_id:
            request.operation_id = str(uuid.uuid4())
        done = plans.done
        following = None if done is None else Following(call.actor, done, call.access)
        call.session.started(request.operation_id, plans.answer, following)
        if plans.new_view is not None:
            call.session.keep_view(plans.new_view.name, plans.new_view.plan)

    def _note_used(self, call: Call) -> None:
        """Counts reads and writes, and records writes in the audit trail before they are done.

        Raises `Unavailable` if they cannot be recorded.
        """
        access, user = call.access, call.access.principal
        for (_, entity), operation in access.used.items():
            self.usage.count(self._realm, user, operation, entity.type, entity.name, call.now)
        actor = call.actor
        events = [
            actor.event(operation, entity, "allow", "permitted", now=call.now, realm=self._realm)
            for (act, entity), operation in access.used.items()
            if act not in _READS
        ]
        if events:
            self._service.write(actor, lambda transaction: _record(transaction, events))

    def write_usage(self) -> None:
        """Adds the counts to the store; counts that cannot be written are kept."""
        with suppress(Unavailable):
            self.usage.write(self._service.store)

    def _call(
        self, record: CallRecord, kind: type[Any], data: bytes, context: grpc.ServicerContext
    ) -> Call:
        """The call, by an authenticated user of the realm, with the user's own session."""
        realm = self._realm_state(record)
        actor = self._actor(context, realm)
        try:
            request = record.request = parsed(kind, data)
        except Denied as error:
            raise self._denied(actor, error) from None
        # Spark keeps sessions and operations by user, so those of others are inaccessible.
        request.user_context.user_id = request.user_context.user_name = actor.user
        session = self._sessions.of(actor.user, request.session_id)
        now = self._service.clock()
        call = Call(actor, realm, session, request, self._backend, self._settings, now)
        try:
            call.access.open_session()
        except Denied as error:
            raise self._denied(actor, error) from None
        return call

    def _realm_state(self, record: CallRecord | None = None) -> RealmState:
        state = self._service.catch_up()
        realm = state.realm(self._realm)
        if record is not None:
            record.model, record.revision = realm.system.model.name, state.revision
        if realm.system.model.settings.get(ENGINE) != ON:
            raise Unknown("realm", self._realm, f"does not serve Spark: set `{ENGINE}` to `on`")
        return realm

    def _actor(self, context: grpc.ServicerContext, realm: RealmState) -> Actor:
        sent = [
            value.encode() if isinstance(value, str) else value
            for key, value in context.invocation_metadata()
            if key == "authorization"
        ]
        now = self._service.clock()
        actor = self._authenticator.authenticate(
            header.read(sent), self._service.state, now, realm=realm.realm
        )
        if isinstance(actor, Unauthenticated):
            raise NoCredentials(actor.why)
        return named(actor, uuid.uuid4().hex, ENGINE)

    def _denied(self, actor: Actor, error: Denied) -> Denied:
        """Writes the denial to the audit trail, one row for many of its kind.

        Returns it with the id by which the decision is explained, if the decision is stored.
        """
        now, operation = self._service.clock(), error.operation or _UNKNOWN
        decision = error.decision
        count: int | None = None
        details: dict[str, object] = {}
        if decision is not None:
            count = self._denials.count_decision(decision, now)
            details = {**decision.details}
        is_kept = count is not None
        if count is None:
            count = self._denials.count(self._realm, actor.recorded, operation, now)
            details = {}
        if not count:
            return error.found_by(decision.id) if is_kept and decision is not None else error
        event = actor.event(
            operation,
            error.target if decision is None or not is_kept else decision.entity,
            "deny",
            str(error)[:_SHOWN],
            now=now,
            realm=self._realm,
            details={**details, "calls": count},
        )
        try:
            self._service.write(actor, lambda transaction: transaction.record(event))
        except WardenError:  # the call is denied in any case
            return error
        return error.found_by(decision.id) if is_kept and decision is not None else error

    def _outcome(
        self, record: CallRecord, context: grpc.ServicerContext, job: Callable[[], Any]
    ) -> Any:
        """The job's result; every error ends the call with a status."""
        try:
            with recording(record.steps):
                answer = job()
        except Exception as error:  # noqa: BLE001 — a call that fails is denied
            if isinstance(error, Denied):
                record.operation = error.operation
            record.end(_end_of(error))
            _end(context, error)
        record.end(DONE)
        return answer


def _log_unfollowed(following: Following) -> None:
    """Logs a change that Spark made, or may have made, and that the realm has not recorded."""
    _log.warning(
        "the realm did not follow Spark", done=following.done.summary(), user=following.actor.user
    )


def _released(request: base.ReleaseExecuteRequest) -> bytes:
    """The response to the release of an operation that Spark never got."""
    answer = base.ReleaseExecuteResponse(
        session_id=request.session_id,
        operation_id=request.operation_id,
        server_side_session_id=request.client_observed_server_side_session_id,
    )
    data: bytes = answer.SerializeToString()
    return data


_MAX_SECONDS: Final = 30 * 86_400.0


def _seconds(context: grpc.ServicerContext) -> float | None:
    """The client's timeout; None: no timeout, which gRPC represents as centuries."""
    remaining: float | None = context.time_remaining()
    return None if remaining is None or remaining > _MAX_SECONDS else remaining


def named_plan(data: bytes, plan: relations.Relation) -> bytes:
    """A response in which the executed plan is replaced by the plan that the user sent."""
    answer = base.ExecutePlanResponse()
    answer.ParseFromString(data)
    if not answer.HasField("sql_command_result"):
        return data
    answer.sql_command_result.relation.CopyFrom(plan)
    named_data: bytes = answer.SerializeToString()
    return named_data


_STATUSES: Final = (
    (NoCredentials, grpc.StatusCode.UNAUTHENTICATED, "unauthenticated"),
    (TooManyCalls, grpc.StatusCode.RESOURCE_EXHAUSTED, "limited"),
    (Malformed, grpc.StatusCode.INVALID_ARGUMENT, "malformed"),
    (Denied, grpc.StatusCode.PERMISSION_DENIED, "denied"),
    # A client retries for minutes if the status is `UNAVAILABLE`.
    (WardenError, grpc.StatusCode.PERMISSION_DENIED, "undecided"),
)


def _end_of(error: Exception) -> str:
    """The outcome of a call, in a word."""
    if isinstance(error, grpc.RpcError):
        return "failed"
    return next((word for kind, _, word in _STATUSES if isinstance(error, kind)), "error")


def _end(context: grpc.ServicerContext, error: Exception) -> NoReturn:
    if isinstance(error, grpc.RpcError):
        end_with(context, error)
    for kind, code, word in _STATUSES:
        if isinstance(error, kind):
            text = f"cannot be decided now: {error}" if word == "undecided" else str(error)
            deny(context, code, text)
    _log.error("unexpected error; the call was denied", exc_info=error)
    deny(context, grpc.StatusCode.PERMISSION_DENIED, "internal error")
