"""Policy as code on a database or a server: the same questions, and the same answers.

A server receives the content of the files, and answers with the result of `lakewarden.service`. A
plan is read back from that answer, so both ways are shown by the same code.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime, time
from math import isfinite
from typing import TYPE_CHECKING, Any, TypeVar

from lakewarden.cli.admin_target import At, done, opened, operator
from lakewarden.cli.status_line import working
from lakewarden.kernel.errors import BadInput, Unavailable

if TYPE_CHECKING:
    from lakewarden.cli.remote import RemoteRealm
    from lakewarden.client.server import Server
    from lakewarden.service.plan import AppliedPlan
    from lakewarden.service.plan_result import Plan
    from lakewarden.service.policy import Part

T = TypeVar("T")


@dataclass(frozen=True)
class Policies:
    """The policy of one realm: exported, planned and applied where `at` says."""

    at: At
    realm: str

    def exported(self) -> Mapping[str, Any]:
        """The realm's policy, in the format of a policy file."""
        server = self.at.remote()
        if server is not None:
            exported_policy: Mapping[str, Any] = server.ask(
                "GET", f"{self._remote_realm(server).path}/policy"
            )
            return exported_policy
        from lakewarden.service import policy

        with opened(self.at.database) as service:
            actor = operator(service)
            return done(policy.exported(service.state, actor, self.realm, service.clock()))

    def planned(self, parts: Sequence[Part], *, keeper: str, adopts: bool) -> Plan:
        """The changes that the files would make."""
        from lakewarden.service.plan_result import read_plan

        server = self.at.remote()
        if server is not None:
            remote = self._remote_realm(server)
            body = {"files": _policy_files(parts), "keeper": keeper, "adopts": adopts}
            system = remote.system
            answer = server.ask("POST", f"{remote.path}/plan", body)
            answered_plan = read_plan(answer, system)
            if answered_plan.digest != answer["digest"]:
                raise Unavailable(
                    f"the plan of `{server.address}` has an unknown format; is it another release?"
                )
            return answered_plan
        from lakewarden.service.plan import plan

        with working("plan", ("open", "compare")) as begin, opened(self.at.database) as service:
            begin("compare")
            actor = operator(service)
            return done(plan(service, actor, self.realm, parts, keeper=keeper, adopts=adopts))

    def applied(
        self, parts: Sequence[Part], *, keeper: str, adopts: bool, revision: int, digest: str
    ) -> AppliedPlan:
        """Makes the changes of the plan with that revision and digest."""
        from lakewarden.service.plan import AppliedPlan, apply_plan
        from lakewarden.service.plan_result import read_plan

        server = self.at.remote()
        if server is not None:
            remote = self._remote_realm(server)
            body = {"files": _policy_files(parts), "keeper": keeper, "adopts": adopts}
            agreed = {"revision": revision, "digest": digest}
            # Before applying: nothing that could fail may come between applying and reporting it.
            system = remote.system
            answer = server.ask("POST", f"{remote.path}/apply", {**body, **agreed})
            return AppliedPlan(read_plan(answer["plan"], system), answer["applied"])
        with working("apply", ("open", "do")) as begin, opened(self.at.database) as service:
            begin("do")
            return done(
                apply_plan(
                    service,
                    operator(service),
                    self.realm,
                    parts,
                    revision=revision,
                    digest=digest,
                    keeper=keeper,
                    adopts=adopts,
                )
            )

    def _remote_realm(self, server: Server) -> RemoteRealm:
        from lakewarden.cli.remote import RemoteRealm

        return RemoteRealm(server, self.realm)


def _policy_files(parts: Sequence[Part]) -> list[dict[str, object]]:
    """The files as JSON. Raises `BadInput`, with the place, for values that JSON cannot express."""
    return [{"name": name, "policy": _plain(table, name, ": ")} for name, table in parts]


def _plain(value: object, where: str, dot: str = ".") -> object:
    match value:
        case Mapping():
            return {key: _plain(item, f"{where}{dot}{key}") for key, item in value.items()}
        case list():
            return [_plain(item, f"{where}[{index}]") for index, item in enumerate(value)]
        case datetime() if value.tzinfo is not None:
            return value.timestamp()
        case date() | time():
            raise BadInput("expected seconds or a date-time with an offset", where=where)
        case float() if not isfinite(value):
            raise BadInput("expected a finite number", where=where)
        case str() | bool() | int() | float() | None:
            return value
        case _:
            kind = type(value).__name__
            raise BadInput(f"a {kind} is not part of policy files", where=where)
