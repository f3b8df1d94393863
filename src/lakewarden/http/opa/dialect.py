"""The addresses for engines that use OPA's protocol, below `/opa/v1` of a realm.

Trino has five; Polaris has one, `polaris`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from http import HTTPStatus
from typing import Final

from lakewarden.config.engines import PolarisRealm, TrinoRealm
from lakewarden.engines import engine as engines
from lakewarden.engines import mapping as mappings
from lakewarden.engines.mapping import EngineMapping
from lakewarden.http.engine_access import EngineAccess, vouched
from lakewarden.http.engine_dialect import (
    EngineDialect,
    json_reply,
    mapping_of,
    require_enforcement_point,
)
from lakewarden.http.engine_figures import UNKNOWN, decided, timed
from lakewarden.http.exchange import (
    BULK,
    OWN_MODELS,
    READS,
    Exchange,
    Handler,
    Reply,
    Route,
    WouldBlock,
)
from lakewarden.http.opa import polaris_question
from lakewarden.http.opa.evaluator import ENGINE as TRINO
from lakewarden.http.opa.evaluator import Evaluator
from lakewarden.http.opa.joined import JoinedEvaluator
from lakewarden.http.opa.polaris_evaluator import ENGINE as POLARIS
from lakewarden.http.opa.polaris_evaluator import PolarisEvaluator
from lakewarden.http.opa.question import read
from lakewarden.kernel.errors import BadInput
from lakewarden.registry import registry
from lakewarden.service.audit import AuditEvent
from lakewarden.service.denials import DeniedDecision

PATH: Final = "/opa/v1"
_TRINO: Final = TrinoRealm()
_POLARIS: Final = PolarisRealm()
"""The settings of a realm that the configuration does not name."""

BATCH_BYTES: Final = 32 * 1024 * 1024
"""The longest body of a list: a hundred thousand tables with long names."""


class Opa(EngineDialect):
    """The OPA dialect of Trino and Polaris, for realms whose model has a mapping."""

    name = "opa"

    def __init__(
        self, trino: Mapping[str, TrinoRealm], polaris: Mapping[str, PolarisRealm]
    ) -> None:
        self._trino, self._polaris = trino, polaris
        self.models = (
            OWN_MODELS,
            *sorted(
                model
                for system in registry().systems.values()
                for model in system.models
                if {TRINO, POLARIS} & mappings.of_model(model).keys()
            ),
        )

    def routes(self) -> Sequence[Route]:
        """All are for enforcement points, whose token may be in the query."""
        return (
            _route("allow", self._allow, inline=True),
            self._route("batch", _counted_indices, large=True),
            self._route("row-filters", lambda evaluator: evaluator.row_filters()),
            self._route("column-masks", lambda evaluator: evaluator.column_mask()),
            self._route(
                "batch-column-masks", lambda evaluator: evaluator.column_masks(), large=True
            ),
            _route(POLARIS, self._answer_polaris, shows_address=False),
        )

    def _route(
        self, name: str, result: Callable[[JoinedEvaluator], object], *, large: bool = False
    ) -> Route:
        def handler(exchange: Exchange) -> Reply:
            joined = self._joined(exchange)
            with timed(TRINO):
                answer = result(joined)
            return json_reply(HTTPStatus.OK, {"result": answer})

        return _route(name, handler, large=large)

    def _allow(self, exchange: Exchange) -> Reply:
        """Answers one question. Runs on the loop, unless it must write or search."""
        joined = self._joined(exchange)
        if exchange.on_loop and not joined.is_short:
            raise WouldBlock
        with timed(TRINO):
            allowed = joined.allows()
        decision = None if allowed else joined.denied()
        reply = (
            json_reply(HTTPStatus.OK, {"result": True})
            if allowed
            else _denied(exchange, False, decision)
        )
        decided(TRINO, _counted_as(joined), allowed=int(allowed), denied=int(not allowed))
        return reply

    def _joined(self, exchange: Exchange) -> JoinedEvaluator:
        """The evaluators of the address's realms; refuses callers who may not ask in all."""
        settings = self._trino.get(exchange.realm, _TRINO)
        realms = settings.realms or (exchange.realm,)
        mappings = [_mapping(exchange, TRINO, realm) for realm in realms]
        question = read(exchange.body)
        evaluators = [
            Evaluator(
                exchange.state.realm(realm),
                mapping,
                self._trino.get(realm, _TRINO),
                question,
                exchange.now,
            )
            for realm, mapping in zip(realms, mappings, strict=True)
        ]
        if evaluators[0].act is None:
            if exchange.on_loop:
                raise WouldBlock
            why = "this operation of Trino is not known"
            exchange.denied(_unknown(exchange, TRINO, evaluators[0].operation, why))
        return JoinedEvaluator(evaluators, settings.require)

    def _answer_polaris(self, exchange: Exchange) -> Reply:
        mapping = _mapping(exchange, POLARIS, exchange.realm)
        settings = self._polaris.get(exchange.realm, _POLARIS)
        try:
            question = polaris_question.read(exchange.body)
        except BadInput as error:
            exchange.denied(_unknown(exchange, POLARIS, "", str(error)))
            raise
        user = question.actor.principal
        roles = question.actor.roles if settings.groups == POLARIS else ()
        asking = vouched(exchange.realm_state, user, roles, exchange.now)
        access = EngineAccess(exchange.realm_state, mapping, settings, asking)
        evaluator = PolarisEvaluator(access, question)
        why = evaluator.not_understood()
        if why:
            exchange.denied(_unknown(exchange, POLARIS, question.action, why))
        with timed(POLARIS):
            allowed = evaluator.allows()
        operation = UNKNOWN if why else question.action
        decided(POLARIS, operation, allowed=int(allowed), denied=int(not allowed))
        result = {"allow": allowed}
        if not allowed:
            return _denied(exchange, result, evaluator.denied())
        return json_reply(HTTPStatus.OK, {"result": result})

    def error_body(self, status: HTTPStatus, message: str) -> object:
        """A code and a message, in OPA's form."""
        return {"code": _CODES.get(status, "internal_error"), "message": message}


_SHOWN: Final = 100
"""The most characters of an unknown operation in the audit trail."""

_CODES: Final = {
    HTTPStatus.BAD_REQUEST: "invalid_parameter",
    HTTPStatus.UNAUTHORIZED: "unauthorized",
    HTTPStatus.FORBIDDEN: "unauthorized",
    HTTPStatus.NOT_FOUND: "resource_not_found",
}


def _denied(exchange: Exchange, result: object, decision: DeniedDecision | None) -> Reply:
    """A denial with the id of its decision, in OPA's member for it."""
    id = "" if decision is None else exchange.denied_decision(_event(exchange, decision), decision)
    return json_reply(HTTPStatus.OK, {"result": result} | ({"decision_id": id} if id else {}))


def _event(exchange: Exchange, decision: DeniedDecision) -> AuditEvent:
    return exchange.actor.event(
        decision.operation,
        decision.entity,
        "deny",
        "the engine was told no",
        now=exchange.now,
        realm=decision.realm,
    )


def _counted_indices(evaluator: JoinedEvaluator) -> Sequence[int]:
    indices = evaluator.allowed_indices()
    denied = evaluator.first.listed - len(indices)
    decided(TRINO, _counted_as(evaluator), allowed=len(indices), denied=denied)
    return indices


def _counted_as(evaluator: JoinedEvaluator) -> str:
    act = evaluator.first.act
    return UNKNOWN if act is None else act.name


def _route(
    name: str,
    handler: Handler,
    *,
    large: bool = False,
    inline: bool = False,
    shows_address: bool = True,
) -> Route:
    return Route(
        "POST",
        f"{PATH}/{name}",
        "decision.ask",
        handler,
        inline=inline,
        engine=True,
        body_limit=BATCH_BYTES if large else None,
        rate_class=BULK if large else READS,
        concealed=_unreadable if shows_address else None,
    )


def _unreadable(reply: Reply) -> Reply:
    """A refusal as a response that Trino cannot parse, so its statement fails.

    With any other status, Trino shows its user the address, and the token in it. A text is no
    boolean, list or mask. SOURCE: trinodb/trino, OpaHttpClient and OpaQueryException@09c4efdd27b2.
    """
    error = {"status": int(reply.status), "body": reply.body.decode("utf-8", "replace")}
    return json_reply(HTTPStatus.OK, {"result": "refused", "error": error})


def _mapping(exchange: Exchange, engine: str, realm: str) -> EngineMapping:
    """The requirements of the engine's acts in the realm; refuses callers who may not ask there."""
    require_enforcement_point(exchange, realm)
    return mapping_of(exchange.state.realm(realm), engine, engines.load(engine).title)


def _unknown(exchange: Exchange, engine: str, operation: str, why: str) -> AuditEvent:
    """A question that the engine is not known to ask."""
    return exchange.actor.event(
        f"{engine}.unknown",
        "",
        "deny",
        why,
        now=exchange.now,
        realm=exchange.realm,
        details={"operation": operation[:_SHOWN]},
    )
