"""A service of Ranger as the target of a push."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import replace

from lakewarden.engines.ranger_service import RangerService
from lakewarden.kernel.errors import BadInput, Conflict, WardenError
from lakewarden.pushdown.adopt import Adoption
from lakewarden.pushdown.drift import Difference
from lakewarden.pushdown.plan import holder_changes
from lakewarden.pushdown.push import Drift, users_of
from lakewarden.pushdown.ranger.address import read_address
from lakewarden.pushdown.ranger.admin import Admin
from lakewarden.pushdown.ranger.drift import differences, foreign
from lakewarden.pushdown.ranger.order import ROLE_ACTS, RangerAct, RangerStep
from lakewarden.pushdown.ranger.plan import RangerPlan, counted
from lakewarden.pushdown.ranger.state import (
    ZONE_NAME,
    Held,
    Json,
    from_data,
    held,
    holders,
    mark,
    policy_content,
    policy_sent,
    role_content,
    role_sent,
)
from lakewarden.pushdown.ranger.style import style_of
from lakewarden.pushdown.ranger.wanted import Stored, Zones, service_of, wanted
from lakewarden.pushdown.ranger.zones import zones_of
from lakewarden.service.push import Reads
from lakewarden.service.push_target import PushTarget, pushed_beside
from lakewarden.service.residue import Residues
from lakewarden.service.state import RealmState

_NOT_TAKEN = "policies of others in Ranger are not taken over; change or remove them in Ranger"


class RangerSession:
    """One service of a Ranger admin.

    Nothing there locks others out: what they change meanwhile is found at the end of a push.
    """

    def __init__(self, admin: Admin, target: PushTarget, reading: Reads) -> None:
        self._admin, self._target, self._reading = admin, target, reading
        self._label = ""
        self._beside: frozenset[str] = frozenset()

    def plan(self, realm: RealmState, now: float) -> RangerPlan:
        """What a push would do now, for the realm as it is when Ranger has answered."""
        return self._planned(realm.realm.name, now)[0]

    def _planned(self, realm_name: str, now: float) -> tuple[RangerPlan, RealmState]:
        """The plan, and the realm it is of: it may change while Ranger is read, which is slow."""
        service = self._service()
        zones = self._zones(service)
        found = self._held(zones=zones.names)
        with self._reading(realm_name) as (realm, reading):
            style = style_of(realm, self._target)
            self._label = "" if style is None else style.label
            self._beside = pushed_beside(reading, self._target)
            told = frozenset(str(one.get(ZONE_NAME) or "") for one in self._told(found.others))
            zones = replace(zones, told=told)
            stored = Stored(reading, self._admin.file_system, zones)
            wish = wanted(realm, self._target, service, found, now, stored, style)
        revision = realm.matrix.revision
        made = RangerPlan(self._target, found, *wish[:2], revision, allowed=wish.allowed)
        return made, realm

    def _zones(self, service: RangerService) -> Zones:
        """The security zones of the service; raises `BadInput` without the one that is told."""
        admin, rows = self._admin, self._admin.zones()
        known = None if rows is None else zones_of(rows, admin.service, folds=service.folds)
        zones = Zones(admin.zone, known)
        zones.required(admin.service)
        return zones

    def _told(self, others: Iterable[Json]) -> Iterator[Json]:
        """The policies that other targets of the realm were told: they are for those to look at."""
        return (one for one in others if str(one.get("guid", "")) in self._beside)

    def adopting(self, made: RangerPlan) -> RangerPlan:
        """Raises `BadInput`: policies of others are never touched."""
        raise BadInput(_NOT_TAKEN)

    def adoption(self, realm: RealmState, now: float) -> Adoption:
        """Raises `BadInput`: policies of others are not read as statements."""
        raise BadInput(_NOT_TAKEN)

    def reset_plan(self) -> RangerPlan:
        """What takes everything back that is ours."""
        return RangerPlan(self._target, self._held(), Held(), Residues(), 0)

    def apply(self, agreed: RangerPlan) -> int:
        """Sends the requests; how many.

        Raises `Conflict` where Ranger refuses one, or did not come to what was planned. What was
        done until then stays, and the next push goes on from there.
        """
        ids = {
            **{f"policy {name}": id for name, id in agreed.held.policy_ids.items()},
            **{f"role {name}": id for name, id in agreed.held.role_ids.items()},
        }
        guids = {**agreed.held.guids}
        for step in agreed.steps:
            self._send(step, ids, guids)
        found = self._held(guids)
        if not found.same(agreed.wanted):
            message = "Ranger did not come to what was planned, others change it as well"
            raise Conflict(f"{message}; run `lakewarden push plan {self._target.name}` again")
        agreed.given.update(found.guids)
        return len(agreed.steps)

    def _send(self, step: RangerStep, ids: dict[str, int], guids: dict[str, str]) -> None:
        admin, text = self._admin, self._description(self._label)
        if step.content is None:
            delete = admin.delete_role if step.act in ROLE_ACTS else admin.delete_policy
            delete(ids[step.key])
            return
        if step.act in ROLE_ACTS:
            role = role_sent(step.name, step.content, text)
            if step.act is RangerAct.CREATE_ROLE:
                answer = admin.create_role(role)
            else:
                answer = admin.update_role({**role, "id": ids[step.key]})
            is_done = role_content(answer) == step.content
        else:
            policy = policy_sent(admin.service, step.content, text)
            if step.act is RangerAct.CREATE_POLICY:
                answer = admin.create_policy(policy)
            else:
                known = {"id": ids[step.key], "guid": guids[step.name]}
                answer = admin.update_policy({**policy, **known})
            guids[step.name] = str(answer.get("guid", ""))
            is_done = policy_content(answer) == step.content
        if not is_done:
            what = "made something else of it, or others have one of that name"
            raise Conflict(f"Ranger {what}: {step.key}; look at it in Ranger, and plan again")
        ids[step.key] = int(answer["id"])

    def _description(self, label: str) -> str:
        target = self._target
        where = target.metalake + (f".{target.catalog}" if target.catalog else "")
        text = f"made by lakewarden from {where} of {target.realm}; changes here are undone"
        return " ".join(filter(None, (label, text, mark(target.name))))

    def drift(self, realm: RealmState, now: float) -> Drift:
        """Three ways: what was pushed last, what is found, and what is wanted now."""
        current, newest = self._planned(realm.realm.name, now)
        pushed, found = from_data(self._target.pushed), current.held
        journal = self._target.journal
        own: list[Difference] = [*differences(pushed, found, journal.get("states", {}))]
        beside = {str(one.get("guid", "")) for one in self._told(found.others)}
        own_zone = self._admin.zone
        strange = tuple(
            one
            for one in found.others
            if str(one.get("guid", "")) not in beside
            and (not own_zone or one.get(ZONE_NAME) == own_zone)
        )
        others = foreign(replace(found, others=strange), users_of(newest), holders(current.allowed))
        return Drift(
            differences=own,
            foreign=sorted(others, key=lambda one: (not one.denied, one.grantee, one.grant)),
            pending=counted(replace(current, held=pushed).steps),
            residue=current.residues.count,
            unfinished=bool(journal),
            access=holder_changes(holders(pushed), holders(found)) if own else [],
        )

    def missing_rights(self) -> list[str]:
        """What the account lacks, or what is wrong with the service."""
        try:
            self._zones(self._service())
            for _ in self._admin.policies():
                break
            for _ in self._admin.roles():
                break
        except WardenError as error:
            return [str(error)]
        return []

    def _service(self) -> RangerService:
        admin = self._admin
        type = admin.service_type()
        return service_of(type, admin.definition(type), admin.service, admin.file_system)

    def arrived(self) -> list[str]:
        """What plugins of the service hold, as Ranger has heard of them."""
        plugins = self._admin.plugins()
        if plugins is None:
            return ["which plugin holds which version only an administrator of Ranger may see"]
        return [_arrived(one.get("hostName"), one.get("appType"), one.get("info") or {})
                for one in plugins]  # fmt: skip

    def _held(
        self, guids: dict[str, str] | None = None, zones: Iterable[str] | None = None
    ) -> Held:
        admin, name, is_styled = self._admin, self._target.name, bool(self._target.style)
        known = from_data(self._target.pushed).guids if guids is None else guids
        own = (admin.zone,) if admin.zone else ()
        policies, roles = admin.policies(own if zones is None else zones), admin.roles()
        return held(name, known, policies, roles, styled=is_styled, zone=admin.zone)


def _arrived(host: object, kind: object, info: dict[str, object]) -> str:
    active, newest = info.get("policyActiveVersion"), info.get("adminPolicyLatestVersion")
    behind = "" if newest is None else f" of {newest}"
    return f"{kind} on {host} holds version {active}{behind}"


@contextmanager
def session(target: PushTarget, url: str, reading: Reads) -> Iterator[RangerSession]:
    """A session with a service of Ranger; types of columns and places of files are stored."""
    admin = Admin(read_address(url))
    try:
        yield RangerSession(admin, target, reading)
    finally:
        admin.close()
