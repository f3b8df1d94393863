"""A service of Ranger as the target of a push."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from itertools import chain

from lakewarden.engines.ranger_service import RangerService
from lakewarden.kernel.errors import BadInput, Conflict, WardenError
from lakewarden.pushdown.adopt import Adoption, GrantedByOthers, adoption, with_gained_access
from lakewarden.pushdown.drift import Difference
from lakewarden.pushdown.grants import Grant
from lakewarden.pushdown.plan import counted, holder_changes
from lakewarden.pushdown.push import Drift, users_of
from lakewarden.pushdown.ranger.address import read_address
from lakewarden.pushdown.ranger.admin import Admin
from lakewarden.pushdown.ranger.adopt import (
    EVERYONE,
    ForeignHoldings,
    ServicePolicies,
    foreign_holdings,
    redundant,
)
from lakewarden.pushdown.ranger.desired_state import (
    DesiredState,
    Stored,
    Zones,
    desired_state,
    mapping_of,
    naming_of,
    service_of,
)
from lakewarden.pushdown.ranger.drift import differences, foreign, foreign_tags
from lakewarden.pushdown.ranger.marks import marks_of, old_tags
from lakewarden.pushdown.ranger.plan import Adopted, RangerPlan
from lakewarden.pushdown.ranger.state import (
    ZONE_NAME,
    Held,
    Json,
    from_data,
    held,
    holders,
    is_about_tags,
)
from lakewarden.pushdown.ranger.style import RangerStyle, style_of
from lakewarden.pushdown.ranger.tags import require_masks, tags_found
from lakewarden.pushdown.ranger.writer import Changes, RequestRecorder, Writer
from lakewarden.pushdown.ranger.zones import zones_of
from lakewarden.pushdown.target_objects import Scope
from lakewarden.service.ports import Reading, ServerAccount
from lakewarden.service.preview import matrix_with_draft
from lakewarden.service.push import Reads
from lakewarden.service.push_lock import StoreLock
from lakewarden.service.push_target import PushTarget, current, guids_of_other_targets
from lakewarden.service.ranger.tag_masks import TAG
from lakewarden.service.residue import Residues
from lakewarden.service.state import RealmState


@dataclass(frozen=True, slots=True)
class _RangerState:
    """The current state of Ranger: the service, its security zones, and policies and roles."""

    service: RangerService
    zones: Zones
    found: Held


@dataclass(frozen=True, slots=True)
class _Situation:
    """A realm and the state of Ranger, at one time.

    `foreign_policies` are policies of others, without those that other targets of the realm pushed.
    """

    target: PushTarget
    realm: RealmState
    stored: Stored
    ranger_state: _RangerState
    foreign_policies: tuple[Json, ...]
    style: RangerStyle | None
    now: float

    def desired_state(
        self, without: Collection[int] = (), realm: RealmState | None = None
    ) -> DesiredState:
        """The wanted state, as if the policies of others with these ids did not exist."""
        found = self.ranger_state.found
        if without:
            kept = tuple(one for one in found.others if int(one["id"]) not in without)
            found = replace(found, others=kept)
        service, of = self.ranger_state.service, self.realm if realm is None else realm
        return desired_state(of, self.target, service, found, self.now, self.stored, self.style)

    def _others(self) -> ForeignHoldings:
        realm, service = self.realm, self.ranger_state.service
        found = replace(self.ranger_state.found, others=self.foreign_policies)
        mapping = mapping_of(realm, service)
        naming = naming_of(realm, self.target, service, self.stored, Residues())
        users, zones = users_of(realm), self.stored.zones
        return foreign_holdings(
            ServicePolicies(realm, mapping, service, naming, found, users, zones)
        )

    def adoption_plan(self) -> tuple[DesiredState, tuple[Adopted, ...]]:
        """The wanted state, and the policies of others that it replaces.

        A policy that stays may keep ours out, so others that ours would replace must stay, too.
        """
        others, desired = self._others(), self.desired_state()
        chosen = redundant(others, _permanent_holders(desired.allowed))
        while True:
            adopted = tuple(self._adopted(others, chosen))
            desired = self.desired_state({one.id for one in adopted})
            kept = chosen & redundant(others, _permanent_holders(desired.held))
            if kept == chosen:
                return desired, adopted
            chosen = kept

    def _adopted(self, others: ForeignHoldings, names: Collection[str]) -> Iterator[Adopted]:
        held = [*zip(others.holdings, others.managed_roles(), strict=True)]
        for one in self.foreign_policies:
            name, zone = str(one.get("name")), str(one.get(ZONE_NAME) or "")
            if name in names and zone == self.stored.zones.own:
                grants = (grant for holding, grant in held if holding.policy == name)
                yield Adopted(int(one["id"]), name, tuple(grants))

    def adoption(self) -> Adoption:
        """The policies of others as statements, and what users would gain from these."""
        realm, others = self.realm, self._others()
        mapping = mapping_of(realm, self.ranger_state.service)
        scope = Scope(self.target.metalake, self.target.catalog)
        foreign = others.grants(realm, mapping, self.now)
        granted = GrantedByOthers(foreign, EVERYONE, others.acts, others.seen)
        made = adoption(realm, mapping, scope, self.target.name, granted, self.now)
        made = replace(made, left=sorted({*made.left, *others.left}))
        after = replace(realm, matrix=matrix_with_draft(realm, made.draft, self.now))
        before, coming = self.desired_state().allowed, self.desired_state(realm=after).allowed
        return with_gained_access(made, holders(before), holders(coming), others.managed_roles())


def _permanent_holders(of: Held) -> Mapping[Grant, frozenset[str]]:
    """The holders of each grant by our policies that do not expire."""
    kept = {name: one for name, one in of.policies.items() if "validitySchedules" not in one}
    return holders(replace(of, policies=kept))


class RangerSession:
    """One service of a Ranger admin.

    Ranger has no lock against changes by others: these are detected at the end of a push. The
    `lock` is one of our store.
    """

    def __init__(
        self,
        admin: Admin,
        target: PushTarget,
        store: str,
        reading: Reads,
        lock: StoreLock | None = None,
    ) -> None:
        self._admin, self._store, self._reading, self._lock = admin, store, reading, lock
        self.set_target(target)
        self._label, self._now = "", 0.0
        self._beside: frozenset[str] = frozenset()

    def lock(self) -> None:
        """Locks out other pushes until the end; raises `Busy` during another push."""
        if self._lock is not None:
            self._lock.acquire()

    def require_free(self) -> None:
        """Raises `Busy` while a push is under way."""
        if self._lock is not None:
            self._lock.require_free()

    def begin_snapshot(self) -> None:
        """Nothing: Ranger has no snapshots, and each object is read once."""

    def set_target(self, target: PushTarget) -> None:
        """Sets the target as it is stored, with the objects that were pushed to it."""
        self._target = target
        self._marks = marks_of(target, self._store, self._admin.service)

    def plan(self, realm: RealmState, now: float) -> RangerPlan:
        """The plan of a push for the realm's state after Ranger has responded."""
        self._now = now
        return self._with_statements(self._planned(realm.realm.name, now)[0])

    def _planned(
        self, realm_name: str, now: float, *, adopts: bool = False
    ) -> tuple[RangerPlan, RealmState]:
        """The plan, and its realm, which may change while Ranger is read, because that is slow."""
        ranger_state = self._read_state()
        with self._reading(realm_name) as (realm, reading):
            work = self._work(realm, reading, ranger_state, now)
            desired, adopted = work.adoption_plan() if adopts else (work.desired_state(), ())
        revision, found = realm.matrix.revision, ranger_state.found
        made = RangerPlan(
            self._target, found, desired.held, desired.residues, revision,
            allowed=desired.allowed, adopted=adopted, type=ranger_state.service.type,
        )  # fmt: skip
        return made, realm

    def _read_state(self) -> _RangerState:
        """The current state of Ranger."""
        service = self._service()
        zones = self._zones(service)
        return _RangerState(service, zones, self._held(zones=zones.names))

    def _work(
        self, realm: RealmState, reading: Reading, ranger_state: _RangerState, now: float
    ) -> _Situation:
        # The catalog may have been renamed while Ranger was read: the old name denotes nothing.
        now_stored = current(reading, self._target)
        self._target = replace(
            self._target, metalake=now_stored.metalake, catalog=now_stored.catalog
        )
        style = style_of(realm, self._target)
        self._label = "" if style is None else style.label
        self._beside = guids_of_other_targets(reading, self._target)
        with_target = (
            str(one.get(ZONE_NAME) or "")
            for one in self._of_other_targets(ranger_state.found.others)
        )
        zones = replace(ranger_state.zones, with_target=frozenset(with_target))
        file_system, by_tags = self._admin.file_system, bool(self._admin.tags)
        stored = Stored(reading, self._marks, file_system, zones, by_tags, self._beside)
        foreign_policies = tuple(
            one for one in ranger_state.found.others if not self._is_of_other_target(one)
        )
        return _Situation(self._target, realm, stored, ranger_state, foreign_policies, style, now)

    def _zones(self, service: RangerService) -> Zones:
        """The security zones of the service; raises `BadInput` if the target's zone is missing."""
        admin, rows = self._admin, self._admin.zones()
        known = None if rows is None else zones_of(rows, admin.service, folds=service.folds)
        zones = Zones(admin.zone, known)
        zones.required(admin.service)
        return zones

    def _of_other_targets(self, others: Iterable[Json]) -> Iterator[Json]:
        """The policies that other targets of the realm pushed; these targets check them."""
        return filter(self._is_of_other_target, others)

    def _is_of_other_target(self, policy: Json) -> bool:
        return str(policy.get("guid", "")) in self._beside

    def adoption_plan(self, made: RangerPlan) -> RangerPlan:
        """The plan for the realm's current state, plus the deletion of replaced policies."""
        return self._with_statements(self._planned(self._target.realm, self._now, adopts=True)[0])

    def adoption(self, realm: RealmState, now: float) -> Adoption:
        """The policies of others as statements of the realm."""
        ranger_state = self._read_state()
        with self._reading(realm.realm.name) as (newest, reading):
            work = self._work(newest, reading, ranger_state, now)
            return work.adoption()

    def reset_plan(self) -> RangerPlan:
        """The plan that removes everything that is ours."""
        return self._with_statements(RangerPlan(self._target, self._held(), Held(), Residues(), 0))

    def apply(self, agreed: RangerPlan) -> int:
        """Sends the requests of the plan, and returns their number.

        Raises `Conflict` if Ranger refuses one, or did not reach the planned state. The requests
        until then stay in effect, and the next push continues from there.
        """
        writer = self._writer(self._admin, agreed.held)
        for step in agreed.steps:
            writer.execute(step)
        found = self._held(writer.guids)
        if not found.same(agreed.desired):
            message = "Ranger did not reach the planned state, because others changed it too"
            raise Conflict(f"{message}; plan again")
        agreed.given.update(found.guids)
        return len(agreed.steps)

    def _with_statements(self, made: RangerPlan) -> RangerPlan:
        """The plan with its requests: those that `apply` sends, recorded by the same code."""
        recorder, script = RequestRecorder(self._admin.service), []
        writer = self._writer(recorder, made.held)
        for step in made.steps:
            writer.execute(step)
            script += [one.statement(step.act.value) for one in recorder.requests]
            recorder.requests.clear()
        return replace(made, statements=tuple(script))

    def _writer(self, changes: Changes, found: Held) -> Writer:
        text = self._description(self._label)
        return Writer(changes, self._marks, found, self._admin.tags, text)

    def _description(self, label: str) -> str:
        target = self._target
        where = target.metalake + (f".{target.catalog}" if target.catalog else "")
        text = f"made by lakewarden from {where} of {target.realm}; changes here are undone"
        return " ".join(filter(None, (label, text, self._marks.label)))

    def drift(self, realm: RealmState, now: float) -> Drift:
        """Compares three states: pushed last, found in Ranger, and wanted now."""
        current, newest = self._planned(realm.realm.name, now)
        pushed, found = from_data(self._target.pushed), current.held
        journal = self._target.journal
        own: list[Difference] = [*differences(pushed, found, journal.get("states", {}))]
        beside = {str(one.get("guid", "")) for one in self._of_other_targets(found.others)}
        own_zone = self._admin.zone
        foreign_policies = tuple(
            one
            for one in found.others
            if str(one.get("guid", "")) not in beside
            and (not own_zone or one.get(ZONE_NAME) == own_zone)
        )
        seen, allowed = replace(found, others=foreign_policies), holders(current.allowed)
        others = [*foreign(seen, users_of(newest), allowed, current.type)]
        named = {
            tag
            for one in current.desired.policies.values()
            if is_about_tags(one)
            for tag in one["resources"][TAG]["values"]
        }
        others += foreign_tags(seen, current.desired.tagged, named)
        return Drift(
            differences=own,
            foreign=sorted(others, key=lambda one: (not one.denied, one.grantee, one.grant)),
            pending=counted(step.act for step in replace(current, held=pushed).steps),
            residue=current.residues.count,
            unfinished=bool(journal),
            access=holder_changes(holders(pushed), holders(found)) if own else [],
        )

    def warnings(self) -> list[str]:
        """None: an account that changes policies of a service is an administrator of it."""
        return []

    def acts_as(self, _account: ServerAccount) -> bool:
        """Always false: an account of Ranger is not one of a database."""
        return False

    def missing_rights(self, _realm: RealmState) -> list[str]:
        """The rights that the account lacks, or the problem with the service."""
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
        service = service_of(type, admin.definition(type), admin.service, admin.file_system)
        if admin.tags:
            require_masks(service, admin.tag_definition())
        return service

    def plugin_versions(self) -> list[str]:
        """The versions that plugins of the service hold, as far as Ranger knows."""
        plugins = self._admin.plugins()
        if plugins is None:
            return ["only an administrator of Ranger may see which plugin holds which version"]
        return [_plugin_version(one.get("hostName"), one.get("appType"), one.get("info") or {})
                for one in plugins]  # fmt: skip

    def _held(
        self, guids: dict[str, str] | None = None, zones: Iterable[str] | None = None
    ) -> Held:
        admin, marks, is_styled = self._admin, self._marks, bool(self._target.style)
        known = from_data(self._target.pushed).guids if guids is None else guids
        own = (admin.zone,) if admin.zone else ()
        asked = own if zones is None else tuple(zones)
        policies, roles = admin.policies(asked), admin.roles()
        if not admin.tags or admin.zone:
            self._require_no_tags()
            return held(marks, known, policies, roles, styled=is_styled, zone=admin.zone)
        about = admin.policies(asked, admin.tags)
        found = held(marks, known, chain(policies, about), roles, styled=is_styled)
        tagged, tags = tags_found(admin, marks, old_tags(self._target))
        return replace(found, tagged=tagged, tags=tags)

    def _require_no_tags(self) -> None:
        """Raises `BadInput` if policies about tags were pushed and the address has no `tags`."""
        pushed = from_data(self._target.pushed)
        if old_tags(self._target) or any(map(is_about_tags, pushed.policies.values())):
            message = "the target has pushed policies about tags; add it again with `?tags=SERVICE`"
            raise BadInput(f"{message}, and `push reset` it before you add it without", where="url")


def _plugin_version(host: object, kind: object, info: dict[str, object]) -> str:
    active, newest = info.get("policyActiveVersion"), info.get("adminPolicyLatestVersion")
    behind = "" if newest is None else f" of {newest}"
    return f"{kind} on {host} holds version {active}{behind}"


@contextmanager
def session(
    target: PushTarget, url: str, store: str, reading: Reads, lock: StoreLock
) -> Iterator[RangerSession]:
    """A session with a Ranger service for the store with this id.

    Column types and file locations are read from the store.
    """
    admin = Admin(read_address(url), before=lock.renew)
    try:
        yield RangerSession(admin, target, store, reading, lock)
    finally:
        lock.release()
        admin.close()
