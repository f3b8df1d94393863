"""Policies of one service of Apache Ranger as a Gravitino realm.

    database, or catalog and schema     catalog, schema; a service of Hive's kind is one catalog
    table, column                       table, column
    user, group, role                   user (member of the metalake), group, role
    group `public`                      all members of the metalake
    select; select, update and alter    SELECT_TABLE; MODIFY_TABLE (see `ranger_scope`)
    deny                                DENY
    allow exceptions                    DENY on what the items allow
    validity                            valid_from, valid_until

Nothing becomes more access than it is. An allowing item that cannot be expressed exactly (some
columns, conditions, excluding resources, patterns for names that no policy names) is left out. A
restriction is never left out: if it cannot be expressed exactly, it is widened to a DENY on the
smallest entity that contains it, and to everybody whom it may concern. The same applies to deny
exceptions, conditions, masks, row filters and `isDenyAllElse`. The report lists these cases.

Members of groups and holders of roles come from exports of users and roles in the same folder.
Without these exports, a DENY to a group or role becomes a DENY to everybody, because its members
are unknown.

SOURCE: apache/ranger@8e7716cd3c36, RangerDefaultPolicyEvaluator; ecosystem reference 6.3.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, ClassVar, Final

from lakewarden.kernel.entity import Entity
from lakewarden.kernel.errors import BadInput
from lakewarden.kernel.principal import Principal
from lakewarden.kernel.statement_file import principal_text
from lakewarden.pipeline.directory_manifest import Input
from lakewarden.pipeline.ingest.files import find, inputs_of
from lakewarden.pipeline.ingest.json_file import records
from lakewarden.pipeline.ingest.opener import Opener, Options
from lakewarden.pipeline.ingest.source import Progress, Reading
from lakewarden.pipeline.storage.location import Location, location
from lakewarden.service.source_row import Row, note_row, statement_row
from lakewarden.service.system import System
from lakewarden.systems.gravitino import names as gravitino
from lakewarden.systems.gravitino.ingest.grants import stored
from lakewarden.systems.gravitino.ingest.ranger_people import MACROS, PUBLIC, People
from lakewarden.systems.gravitino.ingest.ranger_policy import (
    ACCESS,
    TAG,
    Item,
    Policy,
    Ranger,
    Resource,
    Window,
)
from lakewarden.systems.gravitino.ingest.ranger_scope import SERVICES, Place, Scopes

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SUFFIXES: Final = (".json", ".jsonl")

_KINDS: Final = range(3)
"""The types of policies: access, masks and row filters."""

_ALWAYS: Final = (Window(),)
_READING: Final = frozenset({"select"})


@dataclass(frozen=True, slots=True)
class RangerFile:
    """The policies at a path, of one service, in a metalake.

    `service` may be omitted if there is only one; `catalog` defaults to the service's name.
    `takes_untagged`: nothing has the tags that policies deny or mask by. `known` are the existing
    entities, for patterns.
    """

    kind: ClassVar[str] = "ranger-file"
    model: ClassVar[str] = "gravitino"
    path: Location
    metalake: str
    catalog: str = ""
    service: str = ""
    takes_untagged: bool = False
    known: tuple[Entity, ...] = ()

    @property
    def options(self) -> Mapping[str, str]:
        options = {"metalake": self.metalake, "catalog": self.catalog, "service": self.service}
        named = {name: value for name, value in options.items() if value}
        return named | ({"takes_untagged": "true"} if self.takes_untagged else {})

    def inputs(self) -> Sequence[Input]:
        """See `Source`."""
        return inputs_of(find(self.path, SUFFIXES))

    def with_entities(self, entities: Sequence[Entity]) -> RangerFile:
        """See `inventory.Resolving`."""
        return replace(self, known=tuple(entities))

    def read(
        self, spark: SparkSession, system: System, scratch: Location, progress: Progress
    ) -> Reading:
        """See `Source`. Policies are few: they are read on the driver."""
        gravitino.parse("metalake", self.metalake)
        ranger = Ranger()
        files = find(self.path, SUFFIXES)
        for done, file in enumerate(files, 1):
            for record in records(file.path, file.name):
                ranger.add_record(record.value, f"{file.name}: line {record.line}{record.path}")
            progress("read", done, len(files) + 1, f"{len(ranger.policies)} policies")
        meaning = self.meaning(ranger)
        ignored = {"disabled policies": ranger.disabled} if ranger.disabled else {}
        not_read = [f"policies of the service {name}" for name in meaning.others]
        return Reading(list(meaning.rows()), ignored=ignored, not_read=not_read)

    def meaning(self, ranger: Ranger) -> Meaning:
        """The meaning of the policies. Raises `BadInput` if they cannot be told apart."""
        policies, type = self._service_policies(ranger)
        tagging = [policy for policy in ranger.policies if policy.type == TAG]
        limits = next((policy for policy in tagging if policy.restricts), None)
        if limits is not None and not self.takes_untagged:
            message = f"the policy `{limits.name}` takes away by tag, and no tags are known here"
            hint = "; with --takes-untagged it is left out: only where nothing carries the tag"
            raise BadInput(message + hint, where=limits.where)
        service = policies[0].service
        catalog = "" if type == "trino" else self.catalog or service
        if type == "trino" and self.catalog:
            raise BadInput("policies of Trino name their catalogs themselves", where="--catalog")
        scopes = Scopes(self.metalake, type, catalog)
        if self.known:
            scopes.add_entities(self.known)
        try:
            scopes.entities()
        except BadInput as error:
            raise BadInput(f"{error.message}; name it with --catalog", where=service) from None
        others = {p.service for p in ranger.policies} - {service}
        meaning = Meaning(scopes, ranger, policies, others=sorted(others))
        for policy in tagging:
            meaning.note(policy, "policy about tags")
        return meaning

    def _service_policies(self, ranger: Ranger) -> tuple[list[Policy], str]:
        """The policies of the one service, and its type."""
        services = {p.service for p in ranger.policies if p.type != TAG}
        if not services:
            raise BadInput("holds no enabled policy of a service", where=str(self.path))
        listed = ", ".join(sorted(services))
        if self.service and self.service not in services:
            raise BadInput(f"no policy of `{self.service}`; there are: {listed}", where="--service")
        if not self.service and len(services) > 1:
            message = f"policies of several services: {listed}; choose one with --service"
            raise BadInput(message, where=str(self.path))
        name = self.service or listed
        policies = [policy for policy in ranger.policies if policy.service == name]
        type = _only_type([policy for policy in policies if policy.type != TAG])
        names: set[str] = set()
        for policy in policies:
            if policy.name in names:
                raise BadInput(f"the policy `{policy.name}` occurs twice", where=policy.where)
            names.add(policy.name)
        return policies, type


def _only_type(policies: Sequence[Policy]) -> str:
    """The type of the policies' service. Raises `BadInput` unless there is exactly one."""
    first = policies[0]
    for policy in policies:
        if policy.type not in SERVICES:
            known = ", ".join(sorted(SERVICES))
            message = f"`{policy.service}` is a service of type `{policy.type}`"
            raise BadInput(f"{message}; read are those of: {known}", where=policy.where)
        if policy.type != first.type:
            message = f"`{policy.service}` is a service of type `{policy.type}`"
            raise BadInput(f"{message}, and of `{first.type}` in {first.where}", where=policy.where)
    return first.type


@dataclass(slots=True)
class Meaning:
    """The rows that the policies of one service become."""

    scopes: Scopes
    ranger: Ranger
    policies: Sequence[Policy]
    others: Sequence[str] = ()
    _people: People = field(init=False)
    _statements: dict[str, Row] = field(default_factory=dict)
    _notes: dict[Row, None] = field(default_factory=dict)

    def __post_init__(self) -> None:
        items = [item for policy in self.policies for item in policy.allow]
        self._people = People(self.scopes.metalake, self.ranger, items)

    def rows(self) -> Iterator[Row]:
        """All rows, without duplicates."""
        for policy in self.policies:
            for resource in policy.resources:
                self.scopes.learn(resource)
        for policy in self.policies:
            self._policy(policy)
        place = self.scopes.root.name
        for entity in self.scopes.entities():
            yield from stored(entity, place)
        for entity in self.scopes.missing():
            yield note_row(str(entity), "named by a policy, in no inventory")
        yield from self._people.rows(place)
        yield from self._statements.values()
        yield from self._notes

    def note(self, policy: Policy, note: str) -> None:
        """Notes a part of a policy without a counterpart."""
        self._notes[note_row(f"policy {policy.name}", note)] = None

    def _policy(self, policy: Policy) -> None:
        if policy.overrides:
            self.note(policy, "priority: a DENY of another policy still counts")
        if policy.kind not in _KINDS:
            self.note(policy, f"what a policy of the type {policy.kind} allows")
        if policy.kind == ACCESS:
            for index, item in enumerate(policy.allow):
                self._allow(policy, index, item)
        self._restrict(policy, "deny", policy.deny)
        hidden = [item._replace(accesses=_READING) for item in policy.limits]
        self._restrict(policy, "limit", hidden)
        if hidden:
            self.note(policy, "mask or row filter: said as a DENY")
        if policy.allow and policy.allow_exceptions:
            self.note(policy, "allow exceptions: said as a DENY")
        if policy.restricts and not all(window.exact for window in policy.windows):
            self.note(policy, "times that cannot be said: what it takes away holds for longer")
        if policy.deny_exceptions:
            self.note(policy, "deny exceptions: said as if there were none")
        if policy.denies_all_else:
            self.note(policy, "denies all else: said as a DENY to everybody")
            everybody = Item(frozenset({"all"}), (), (PUBLIC,), ())
            self._restrict(policy, "else", [everybody])

    def _allow(self, policy: Policy, index: int, item: Item) -> None:
        subject = f"item {index + 1} of what is allowed"
        if item.delegates:
            self.note(policy, f"{subject}: the right to grant")
        windows = policy.windows or _ALWAYS
        if item.conditional or policy.conditional or not all(w.exact for w in windows):
            self.note(policy, f"{subject}: under a condition, or at times, that cannot be said")
            return
        to = self._people.allowed(item)
        for user in sorted(MACROS & set(item.users)):
            self.note(policy, f"{subject}: what is allowed to {user}")
        for resource in policy.resources:
            places = self.scopes.exact(resource)
            if places is None:
                self.note(policy, f"{subject}: {_resource_text(resource)}")
                continue
            for place in places:
                self._allow_at(policy, f"allow {index + 1}", item, place, to)
            if not places:
                self.note(
                    policy, f"{subject}: no policy names what {_resource_text(resource)} means"
                )

    def _allow_at(
        self, policy: Policy, part: str, item: Item, place: Place, to: list[Principal]
    ) -> None:
        accesses = self.scopes.covered_privileges(item.accesses, place)
        lost = sorted(self.scopes.without_meaning(item.accesses, place))
        if lost or not item.accesses:
            self.note(policy, f"{', '.join(lost) or 'no access'} on {place.entity}")
        if not accesses:
            return
        granted: dict[Entity, set[str]] = {place.entity: set(accesses)}
        for entity, privilege in self.scopes.needs(place, accesses):
            granted.setdefault(entity, set()).add(privilege)
        for entity, privileges in granted.items():
            self._state(policy, part, "allow", entity, privileges, to)
        for index, exception in enumerate(policy.allow_exceptions, 1):
            self._deny_at(policy, f"exception {index}", exception, place)

    def _restrict(self, policy: Policy, part: str, items: Sequence[Item]) -> None:
        """Removes access from everybody whom the items may concern, wherever they may apply."""
        for index, item in enumerate(items, 1):
            if item.conditional or policy.conditional:
                self.note(policy, f"the condition of {part} {index}: said as if it always held")
            for resource in policy.resources:
                if self.scopes.is_elsewhere(resource):
                    self.note(policy, f"{part} {index}: {_resource_text(resource)}")
                    continue
                for place in self.scopes.covering(resource):
                    self._deny_at(policy, f"{part} {index}", item, place)

    def _deny_at(self, policy: Policy, part: str, item: Item, place: Place) -> None:
        principals, unknown = self._people.restricted(item)
        if unknown:
            why = f"the files do not tell {', '.join(unknown)}"
            self.note(policy, f"{part}: taken from everybody, since {why}")
        denied: dict[Entity, set[str]] = {}
        for entity, privilege in self.scopes.denied(item.accesses, place):
            denied.setdefault(entity, set()).add(privilege)
        for entity, privileges in denied.items():
            self._state(policy, part, "deny", entity, privileges, principals)

    def _state(
        self,
        policy: Policy,
        part: str,
        effect: str,
        on: Entity,
        privileges: set[str],
        to: Sequence[Principal],
    ) -> None:
        """Adds a statement for each period in which the policy is valid."""
        if not to:
            return
        for number, (start, end) in enumerate(_times(policy, effect), 1):
            id = f"{policy.name}: {part}: {effect} on {on}"
            table: dict[str, object] = {
                "id": id if number == 1 else f"{id} ({number})",
                "effect": effect,
                "title": f"{policy.name} ({part})",
                "privileges": sorted(privileges),
                "to": sorted({principal_text(principal) for principal in to}),
                "on": str(on),
            }
            table |= {} if start is None else {"valid_from": start}
            table |= {} if end is None else {"valid_until": end}
            self._add(table, sorted(privileges), policy)

    def _add(self, table: dict[str, object], privileges: Sequence[str], policy: Policy) -> None:
        """Adds a statement; equal ones from several resources of a policy are merged."""
        id = str(table["id"])
        known = self._statements.get(id)
        row = statement_row(table, policy.where)
        if known is not None and known != row:
            table["id"] = f"{id}, {', '.join(privileges)}"
            row = statement_row(table, policy.where)
        self._statements[str(table["id"])] = row


def _times(policy: Policy, effect: str) -> list[tuple[float | None, float | None]]:
    """The periods; a restriction is valid at least as long as in Ranger."""
    windows = []
    for window in policy.windows or _ALWAYS:
        # In Ranger, the last second is included.
        later = 1.0 if effect == "deny" else 0.0
        end = None if window.end is None else window.end + later
        windows.append((window.start, end))
    return windows


def _resource_text(resource: Resource) -> str:
    """A resource, for people."""
    parts = []
    for name, level in resource.items():
        values = ", ".join(level.values[:3]) + (", …" if len(level.values) > 3 else "")
        parts.append(f"{name} {'other than ' if level.excludes else ''}{values}")
    return " and ".join(parts)


def _open(place: str, _: str, options: Options) -> RangerFile:
    return RangerFile(location(place), **options)


SOURCE: Final = Opener(
    ("gravitino",),
    _open,
    options=("metalake", "catalog", "service", "takes_untagged"),
    required=("metalake",),
)
