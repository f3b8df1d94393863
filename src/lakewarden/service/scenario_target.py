"""The compiled kernel as a target of scenarios."""

from __future__ import annotations

from dataclasses import dataclass

from lakewarden.kernel import listing as listings
from lakewarden.kernel.entity import Entity
from lakewarden.kernel.matrix import Matrix
from lakewarden.kernel.principal import Principal
from lakewarden.kernel.relations import Facts
from lakewarden.kernel.request import Request
from lakewarden.kernel.snapshot import compile
from lakewarden.service.scenarios import Question
from lakewarden.service.system import System


def request_of(question: Question) -> Request:
    """The kernel's request for a scenario's question."""
    return Request(
        principal=question.principal,
        operation=question.operation or question.privilege or "",
        target=question.entity,
        now=question.now,
        targets=question.targets,
        lists=question.lists,
        attributes=question.attributes,
        subresources=question.subresources,
        groups=tuple(sorted(question.groups)),
        roles=question.roles,
    )


@dataclass(frozen=True, slots=True)
class KernelSession:
    """One compiled world at one time."""

    matrix: Matrix
    now: float

    def check(self, question: Question) -> bool:
        """Whether the compiled kernel allows it."""
        return self.matrix.decide(request_of(question)).allow

    def listing(
        self,
        user: Principal,
        operation: str,
        within: Entity | None,
        *,
        groups: frozenset[Principal] = frozenset(),
        roles: frozenset[Principal] | None = None,
    ) -> frozenset[Entity]:
        """The listing of the compiled kernel."""
        request = Request(user, operation, now=self.now, groups=tuple(sorted(groups)), roles=roles)
        return listings.named(self.matrix, listings.listing(self.matrix, request, within))


@dataclass(frozen=True, slots=True)
class KernelTarget:
    """Compiles a world and evaluates questions on it."""

    def prepare(self, system: System, facts: Facts, now: float) -> KernelSession:
        """The world, compiled for that time."""
        snapshot = compile(facts, system.model, system.spelling, now=now, revision=1)
        return KernelSession(Matrix(snapshot), now)
