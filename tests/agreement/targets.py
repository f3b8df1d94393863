"""The oracle as a target of scenarios."""

from __future__ import annotations

from dataclasses import dataclass

from lakewarden.kernel.entity import Entity
from lakewarden.kernel.principal import Principal
from lakewarden.kernel.relations import Facts
from lakewarden.kernel.request import Request
from lakewarden.service.scenario_target import request_of
from lakewarden.service.scenarios import Question, Session
from lakewarden.service.system import System
from tests.oracle.oracle import Oracle


@dataclass(frozen=True, slots=True)
class OracleSession:
    """One world, as rows, at one time."""

    oracle: Oracle
    now: float

    def check(self, question: Question) -> bool:
        return self.oracle.check(request_of(question))

    def listing(
        self,
        user: Principal,
        operation: str,
        within: Entity | None,
        *,
        groups: frozenset[Principal] = frozenset(),
        roles: frozenset[Principal] | None = None,
    ) -> frozenset[Entity]:
        request = Request(user, operation, now=self.now, groups=tuple(groups), roles=roles)
        return self.oracle.listing(request, within)


@dataclass(frozen=True, slots=True)
class OracleTarget:
    """Evaluates the rows directly."""

    def prepare(self, system: System, facts: Facts, now: float) -> Session:
        return OracleSession(Oracle(facts, system.model, system.spelling), now)
