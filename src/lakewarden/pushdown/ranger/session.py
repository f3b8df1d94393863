"""A service of Ranger as the target of a push."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from itertools import chain

from lakewarden.engines.ranger_service import RangerService
from lakewarden.kernel.errors import BadInput, Conflict, WardenError
from lakewarden.pushdown.adopt import Adoption, GrantedByOthers, adoption, with_gains
from lakewarden.pushdown.drift import Difference
from lakewarden.pushdown.grants import Grant
from lakewarden.pushdown.plan import holder_changes
from lakewarden.pushdown.push import Drift, users_of
from lakewarden.pushdown.ranger.address import read_address
from lakewarden.pushdown.ranger.admin import Admin
from lakewarden.pushdown.ranger.adopt import (
    EVERYONE,
    Others,
    ServicePolicies,
    others_of,
    redundant,
)
from lakewarden.pushdown.ranger.drift import differences, foreign, strange_tags
from lakewarden.pushdown.ranger.marks import marks_of, old_tags
from lakewarden.pushdown.ranger.plan import Adopted, RangerPlan, counted
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
from lakewarden.pushdown.ranger.wanted import (
    Stored,
    Wish,
    Zones,
    mapping_of,
    naming_of,
    service_of,
    wanted,
)
from lakewarden.pushdown.ranger.writer import Changes, Rehearsal, Writer
from lakewarden.pushdown.ranger.zones import zones_of
from lakewarden.pushdown.wanted import Scope
from lakewarden.service.ports import Reading, ServerAccount
from lakewarden.service.preview import matrix_with_draft
from lakewarden.service.push import Reads
from lakewarden.service.push_lock import StoreLock
from lakewarden.service.push_target import PushTarget, current, pushed_beside
from lakewarden.service.ranger.tag_masks import TAG
from lakewarden.service.residue import Residues
from lakewarden.service.state import RealmState


@dataclass(frozen=True, slots=True)
class _Looked:
    """The current state of Ranger: the service, its security zones, and policies and roles."""

    service: RangerService
    zones: Zones
    found: Held


@dataclass(frozen=True, slots=True)
class _Work:
    """A realm and the state of Ranger, at one time.

    `strange` are policies of others, without those that other targets of the realm pushed.
    """

    target: PushTarget
    realm: RealmState
    stored: Stored
    looked: _Looked
    strange: tuple[Json, ...]
    style: RangerStyle | None
    now: float

    def wish(self, without: Collection[int] = (), realm: RealmState | None = None) -> Wish:
        """The wanted state, as if the policies of others with these ids did not exist."""
        found = self.looked.found
        if without:
            kept = tuple(one for one in found.others if int(one["id"]) not in without)
            found = replace(found, others=kept)
        service, of = self.looked.service, self.realm if realm is None else realm
        return wanted(of, self.target, service, found, self.now, self.stored, self.style)

    def _others(self) -> Others:
        realm, service = self.realm, self.looked.service
        found = replace(self.looked.found, others=self.strange)
        mapping = mapping_of(realm, service)
        naming = naming_of(realm, self.target, service, self.stored, Residues())
        users, zones = users_of(realm), self.stored.zones
        return others_of(ServicePolicies(realm, mapping, service, naming, found, users, zones))

    def adopting(self) -> tuple[Wish, tuple[Adopted, ...]]:
        """The wanted state, and the policies of others that it replaces.

        A policy that stays may keep ours out, so others that ours would replace must stay, too.
        """
        others, wish = self._others(), self.wish()
        chosen = redundant(others, _lasting(wish.allowed))
        while True:
            adopted = tuple(self._adopted(others, chosen))
            wish = self.wish({one.id for one in adopted})
            kept = chosen & redundant(others, _lasting(wish.held))
            if kept == chosen:
                return wish, adopted
            chosen = kept

    def _adopted(self, others: Others, names: Collection[str]) -> Iterator[Adopted]:
        held = [*zip(others.holdings, others.held(), strict=True)]
        for one in self.strange:
            name, zone = str(one.get("name")), str(one.get(ZONE_NAME) or "")
            if name in names and zone == self.stored.zones.own:
                grants = (grant for holding, grant in held if holding.policy == name)
                yield Adopted(int(one["id"]), name, tuple(grants))

    def adoption(self) -> Adoption:
        """The policies of others as statements, and what users would gain from these."""
        realm, others = self.realm, self._others()
        mapping = mapping_of(realm, self.looked.service)
        scope = Scope(self.target.metalake, self.target.catalog)
        foreign = others.grants(realm, mapping, self.now)
        granted = GrantedByOthers(foreign, EVERYONE, others.acts, others.seen)
        made = adoption(realm, mapping, scope, self.target.name, granted, self.now)
        made = replace(made, left=sorted({*made.left, *others.left}))
        after = replace(realm, matrix=matrix_with_draft(realm, made.draft, self.now))
        before, coming = self.wish().allowed, self.wish(realm=after).allowed
        return with_gains(made, holders(before), holders(coming), others.held())


def _lasting(of: Held) -> Mapping[Grant, frozenset[str]]:
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
        self.know(target)
        self._label, self._now = "", 0.0
        self._beside: frozenset[str] = frozenset()

    def lock(self) -> None:
        """Locks out other pushes until the end; raises `Busy` during another push."""
        if self._lock is not None:
            self._lock.take()

    def require_free(self) -> None:
        """Raises `Busy` while a push is under way."""
        if self._lock is not None:
            self._lock.require_free()

    def look(self) -> None:
        """Nothing: Ranger has no snapshots, and each object is read once."""

    def know(self, target: PushTarget) -> None:
        """Sets the target as it is stored, with the objects that were pushed to it."""
        self._target = target
        self._marks = marks_of(target, self._store, self._admin.service)

    def plan(self, realm: RealmState, now: float) -> RangerPlan:
        """The plan of a push for the realm's state after Ranger has responded."""
        self._now = now
        return self._said(self._planned(realm.realm.name, now)[0])

    def _planned(
        self, realm_name: str, now: float, *, adopts: bool = False
    ) -> tuple[RangerPlan, RealmState]:
        """The plan, and its realm, which may change while Ranger is read, because that is slow."""
        looked = self._looked()
        with self._reading(realm_name) as (realm, reading):
            work = self._work(realm, reading, looked, now)
            wish, adopted = work.adopting() if adopts else (work.wish(), ())
        revision, found = realm.matrix.revision, looked.found
        made = RangerPlan(
            self._target, found, wish.held, wish.residues, revision,
            allowed=wish.allowed, adopted=adopted, type=looked.service.type,
        )  # fmt: skip
        return made, realm

    def _looked(self) -> _Looked:
        """The current state of Ranger."""
        service = self._service()
        zones = self._zones(service)
        return _Looked(service, zones, self._held(zones=zones.names))

    def _work(self, realm: RealmState, reading: Reading, looked: _Looked, now: float) -> _Work:
        # The catalog may have been renamed while Ranger was read: the old name denotes nothing.
        now_stored = current(reading, self._target)
        self._target = replace(
            self._target, metalake=now_stored.metalake, catalog=now_stored.catalog
        )
        style = style_of(realm, self._target)
        self._label = "" if style is None else style.label
        self._beside = pushed_beside(reading, self._target)
        told = (str(one.get(ZONE_NAME) or "") for one in self._told(looked.found.others))
        zones = replace(looked.zones, told=frozenset(told))
        file_system, by_tags = self._admin.file_system, bool(self._admin.tags)
        stored = Stored(reading, self._marks, file_system, zones, by_tags, self._beside)
        strange = tuple(one for one in looked.found.others if not self._is_told(one))
        return _Work(self._target, realm, stored, looked, strange, style, now)

    def _zones(self, service: RangerService) -> Zones:
        """The security zones of the service; raises `BadInput` if the target's zone is missing."""
        admin, rows = self._admin, self._admin.zones()
        known = None if rows is None else zones_of(rows, admin.service, folds=service.folds)
        zones = Zones(admin.zone, known)
        zones.required(admin.service)
        return zones

    def _told(self, others: Iterable[Json]) -> Iterator[Json]:
        """The policies that other targets of the realm pushed; these targets check them."""
        return filter(self._is_told, others)

    def _is_told(self, policy: Json) -> bool:
        return str(policy.get("guid", "")) in self._beside

    def adopting(self, made: RangerPlan) -> RangerPlan:
        """The plan for the realm's current state, plus the deletion of replaced policies."""
        return self._said(self._planned(self._target.realm, self._now, adopts=True)[0])

    def adoption(self, realm: RealmState, now: float) -> Adoption:
        """The policies of others as statements of the realm."""
        looked = self._looked()
        with self._reading(realm.realm.name) as (newest, reading):
            work = self._work(newest, reading, looked, now)
            return work.adoption()

    def reset_plan(self) -> RangerPlan:
        """The plan that removes everything that is ours."""
        return self._said(RangerPlan(self._target, self._held(), Held(), Residues(), 0))

    def apply(self, agreed: RangerPlan) -> int:
        """Sends the requests of the plan, and returns their number.

        Raises `Conflict` if Ranger refuses one, or did not reach the planned state. The requests
        until then stay in effect, and the next push continues from there.
        """
        writer = self._writer(self._admin, agreed.held)
        for step in agreed.steps:
            writer.do(step)
        found = self._held(writer.guids)
        if not found.same(agreed.wanted):
            message = "Ranger did not reach the planned state, because others changed it too"
            raise Conflict(f"{message}; plan again")
        agreed.given.update(found.guids)
        return len(agreed.steps)

    def _said(self, made: RangerPlan) -> RangerPlan:
        """The plan with its requests: those that `apply` sends, recorded by the same code."""
        rehearsal, script = Rehearsal(self._admin.service), []
        writer = self._writer(rehearsal, made.held)
        for step in made.steps:
            writer.do(step)
            script += [one.statement(step.act.value) for one in rehearsal.requests]
            rehearsal.requests.clear()
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
        beside = {str(one.get("guid", "")) for one in self._told(found.others)}
        own_zone = self._admin.zone
        strange = tuple(
            one
            for one in found.others
            if str(one.get("guid", "")) not in beside
            and (not own_zone or one.get(ZONE_NAME) == own_zone)
        )
        seen, allowed = replace(found, others=strange), holders(current.allowed)
        others = [*foreign(seen, users_of(newest), allowed, current.type)]
        named = {
            tag
            for one in current.wanted.policies.values()
            if is_about_tags(one)
            for tag in one["resources"][TAG]["values"]
        }
        others += strange_tags(seen, current.wanted.tagged, named)
        return Drift(
            differences=own,
            foreign=sorted(others, key=lambda one: (not one.denied, one.grantee, one.grant)),
            pending=counted(replace(current, held=pushed).steps),
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

    def arrived(self) -> list[str]:
        """The versions that plugins of the service hold, as far as Ranger knows."""
        plugins = self._admin.plugins()
        if plugins is None:
            return ["only an administrator of Ranger may see which plugin holds which version"]
        return [_arrived(one.get("hostName"), one.get("appType"), one.get("info") or {})
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


def _arrived(host: object, kind: object, info: dict[str, object]) -> str:
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
    admin = Admin(read_address(url), before=lock.keep)
    try:
        yield RangerSession(admin, target, store, reading, lock)
    finally:
        lock.release()
        admin.close()
