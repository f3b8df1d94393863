"""A push to Ranger: the requests, their journal, and their effect on users."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from hashlib import sha256
from typing import Any

import msgspec

from lakewarden.pushdown.drift import ForeignGrant
from lakewarden.pushdown.plan import AccessChange, holder_changes, plan_table
from lakewarden.pushdown.ranger.marks import digest_of
from lakewarden.pushdown.ranger.order import RangerAct, RangerStep, steps
from lakewarden.pushdown.ranger.state import Held, holders
from lakewarden.pushdown.statement import Statement
from lakewarden.service.push_target import PushTarget
from lakewarden.service.residue import Residues


@dataclass(frozen=True, slots=True)
class Adopted:
    """A policy of others that is deleted: its id in Ranger, its name, and its grants."""

    id: int
    name: str
    grants: tuple[ForeignGrant, ...]


GONE = ""
"""Stands in a journal for an object that does not exist."""


@dataclass(frozen=True)
class RangerPlan:
    """Our current state in a Ranger service, the wanted state, and the requests between.

    `digest` is the same only for the same requests from the same state. `given` are the guids
    that Ranger assigned to policies during the push, by name. `allowed` is what the realm allows
    in any security zone. `adopted` are policies of others that are deleted, because ours replace
    them. `type` is the service type. `statements` are the requests as they are sent.
    """

    target: PushTarget
    held: Held
    desired: Held
    residues: Residues
    revision: int
    given: dict[str, str] = field(default_factory=dict)
    allowed: Held = field(default_factory=Held)
    adopted: tuple[Adopted, ...] = ()
    type: str = ""
    statements: tuple[Statement, ...] = ()

    @cached_property
    def steps(self) -> Sequence[RangerStep]:
        """The requests, in order."""
        deleted = [RangerStep(RangerAct.DELETE_FOREIGN, str(one.id)) for one in self.adopted]
        return [*deleted, *steps(self.held, self.desired)]

    @property
    def is_pending(self) -> bool:
        """Whether there is anything to do."""
        is_changed = not self.held.same(self.desired)
        return is_changed or bool(self.adopted or self.target.journal)

    @property
    def access(self) -> Sequence[AccessChange]:
        """The effect on users."""
        return holder_changes(holders(self.held), holders(self.desired))

    @cached_property
    def digest(self) -> str:
        """The digest that identifies this plan."""
        own = [self.target.realm, self.target.name, self.held.digests(), self.desired.digests()]
        parts = [*own, self.adopted, [one.table() for one in self.statements]]
        return sha256(msgspec.json.encode(parts, order="sorted")).hexdigest()

    def target_during_push(self) -> PushTarget | None:
        """The target during the push: the journal lists the possible states of each object."""
        states: dict[str, list[str]] = {
            key: list(each) for key, each in self.target.journal.get("states", {}).items()
        }
        before = self.held.digests()
        for step in self.steps:
            of = states.setdefault(step.key, [before.get(step.key, GONE)])
            of.append(GONE if step.content is None else digest_of(step.content))
        first = str(self.target.journal.get("digest", ""))
        journal = {
            "digest": first if self.resumes(first) else self.digest,
            "wanted": digest_of(self.desired.digests()),
            "states": {key: [*dict.fromkeys(each)] for key, each in sorted(states.items())},
        }
        guids = {**self.target.journal.get("tag_guids", {}), **self.desired.tag_guids}
        if guids:
            journal["tag_guids"] = guids
        return replace(self.target, journal=journal)

    def resumes(self, digest: str) -> bool:
        """Whether it is the rest of the plan with that digest, whose push was begun."""
        journal = self.target.journal
        if not journal or journal.get("digest") != digest:
            return False
        if journal.get("wanted") != digest_of(self.desired.digests()):
            return False
        now = self.held.digests()
        return all(now.get(key, GONE) in each for key, each in journal["states"].items())

    def target_after_push(self) -> PushTarget:
        """The target after the push."""
        guids = {**self.held.guids, **self.desired.guids, **self.given}
        kept = {name: guids[name] for name in self.desired.policies if name in guids}
        pushed = replace(self.desired, guids=kept).data()
        return replace(self.target, pushed=pushed, revision=self.revision, journal={})

    def table(self) -> dict[str, Any]:
        """The plan as JSON values."""
        adopted = ((one.grantee, one.grant) for policy in self.adopted for one in policy.grants)
        return plan_table(self, (step.act for step in self.steps), adopted)
