"""The privileges for writing an aspect in addition to that on the entity, for every kind of write.

The privilege to write the entity, or to make the edit, is checked elsewhere. The model declares
further privileges for aspects that grant something: roles, memberships, the content of a data
product, a logical parent, tags that a policy may be limited to. Proposals and page edits both use
this guard, so no path bypasses it.

SOURCE: datahub reference 3.8, 5.1, 6.9.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, Literal, Unpack

from lakewarden.kernel.entity import NO_RESOURCE, Entity
from lakewarden.kernel.errors import BadInput, WardenError
from lakewarden.kernel.obligations import is_limited
from lakewarden.kernel.relations import MembershipRow, RelationRow
from lakewarden.kernel.request import Parts, Request
from lakewarden.service import timeseries
from lakewarden.service.write_transaction import WriteTransaction
from lakewarden.systems.datahub import names as datahub
from lakewarden.systems.datahub.aspects import patch
from lakewarden.systems.datahub.aspects.facts import Placement, stated_facts, stored_facts
from lakewarden.systems.datahub.aspects.fields import without_avro_type
from lakewarden.systems.datahub.aspects.policy import check_change
from lakewarden.systems.datahub.aspects.rendering import is_immutable
from lakewarden.systems.datahub.use_cases import aspects
from lakewarden.systems.datahub.use_cases.aspects import Value
from lakewarden.systems.datahub.use_cases.column_changes import ColumnChange, column_change

CREDENTIAL: Final = "dataHubAccessToken"
"""The type of the entities that record tokens, and the prefix of their URNs."""
CREDENTIAL_PREFIX: Final = f"urn:li:{CREDENTIAL}:"

NEEDED_BY: Final = "needed_by"
"""The key, in details of an audited event, of filters and masks whose columns were removed."""

_LIMITED: Final = (
    "a row filter or a column mask binds you: you may not add, rename or remove columns of"
)

ORIGINAL: Final = "original"
"""The setting with which domains count as in DataHub itself."""


@dataclass(frozen=True, slots=True)
class Switches:
    """The checks that the operator switched off, and limits.

    `rest`: whether anything is checked at all. `constraints`: whether tags are checked one by one.
    `domains`: whether the domains of the same batch count, and with `ORIGINAL` also for an existing
    entity in no domain, which is then not checked in its stored state. `needed_columns`: whether
    columns that filters or masks need may be removed. In addition, at most `values` timeseries
    values of an aspect are stored, and the number of operations of a patch is limited. An entity
    may have at most `entity_aspects` aspects, which with `unknown_aspects` include aspects that are
    not in DataHub's own model.
    """

    rest: bool = True
    constraints: bool = True
    domains: bool | Literal["original"] = True
    values: int = timeseries.KEPT
    unknown_aspects: bool = True
    entity_aspects: int = 256
    patch_operations: int = patch.LARGEST
    needed_columns: bool = True


class NotAllowed(WardenError):
    """A change is refused, with all others of its transaction. Nothing is written."""

    def __init__(self, request: Request, message: str) -> None:
        super().__init__(message)
        self.request = request


class Guard:
    """Checks changes of one entity, in the state of the current write."""

    def __init__(
        self, transaction: WriteTransaction, realm: str, entity: Entity, switches: Switches
    ) -> None:
        self._desk = transaction
        self._realm = realm
        self._entity = entity
        self._switches = switches

    def request(
        self, operation: str, target: Entity | None = None, **parts: Unpack[Parts]
    ) -> Request:
        """The caller's request; about the entity itself if no target is given."""
        realm_state = self._desk.realm(self._realm)
        on = self._entity if target is None else target
        plain = self._desk.actor.request(
            realm_state.realm, realm_state.system, operation, on, now=self._desk.now
        )
        return replace(plain, **parts) if parts else plain

    def ask(self, operation: str, target: Entity | None = None, **parts: Unpack[Parts]) -> Request:
        """The request, if it is allowed; raises `NotAllowed`."""
        request = self.request(operation, target, **parts)
        if not self._allows(request):
            on = f" on `{request.target.name}`" if request.target != NO_RESOURCE else ""
            raise NotAllowed(request, f"not authorized to perform `{operation}`{on}")
        return request

    def _allows(self, request: Request) -> bool:
        return not self._switches.rest or self._desk.decide(self._realm, request).allow

    def check_credential(self) -> None:
        """Rejects changes of a stored token: they could pass it on, or prevent its revocation."""
        if self._entity.type == CREDENTIAL:
            self.ask("token.manage")

    def check_mutable(self) -> None:
        """Raises `NotAllowed` for a policy that is not editable."""
        if self._entity.type != "dataHubPolicy":
            return
        state = self._desk.realm(self._realm)
        stored = aspects.read(self._desk.store, state, [self._entity]).get(self._entity, {})
        value = stored[aspects.POLICY].value if aspects.POLICY in stored else None
        if is_immutable(self._entity.name, state.system.model, value):
            request = self.request("policy.update")
            raise NotAllowed(request, f"the policy `{self._entity.name}` cannot be changed")

    def check(
        self,
        aspect: str,
        old: Value | None,
        new: Value | None,
        *,
        is_there: bool,
        domains: Value | None = None,
    ) -> None:
        """Raises `NotAllowed` unless the caller may change the aspect from one value to another.

        The content of a new query is checked with the privilege to create it (`is_there` False).
        `domains` is that aspect as written by the same batch; a data product is then checked in
        these domains. A logical parent is checked even if it does not change, as in the original.
        Raises `BadInput` for a policy with an unknown field or a malformed actor.
        """
        if old == new and aspect != "logicalParent":
            return
        match aspect:
            case aspects.POLICY:
                self.check_mutable()
                check_change(old, new or {}, self._desk.realm(self._realm).system.model)
            case "roleMembership":
                self.ask("role_membership.edit")
            case "groupMembership" | "nativeGroupMembership":
                self._check_groups(aspect, old, new)
            case "querySubjects" if is_there:
                self.ask("query.create", lists={"subjects": self.targets(aspect, "subject", new)})
            case "dataProductProperties":
                self._check_product(old, new, domains)
            case "container" if is_there:
                self._check_place("child.place", aspect, old, new)
            case "domainProperties" | "glossaryNodeInfo" | "glossaryTermInfo":
                operation = "child.place" if is_there else "child.create"
                self._check_place(operation, aspect, old, new)
            case "logicalParent":
                self._check_parent(new)
            case "globalTags" | "schemaMetadata" | "editableSchemaMetadata":
                self._check_tags(aspect, old, new)
                self._check_columns(column_change(self._entity, aspect, old, new))

    def _check_groups(self, aspect: str, old: Value | None, new: Value | None) -> None:
        """A manager of identities may change all memberships; otherwise each group is checked."""
        if self._allows(self.request("identity.manage", NO_RESOURCE)):
            return
        old_groups, new_groups = (
            _group_names(self._stated_facts(aspect, old)),
            _group_names(self._stated_facts(aspect, new)),
        )
        for name in sorted(old_groups ^ new_groups):
            self.ask("group.members.edit", Entity("corpGroup", name))

    def _check_product(self, old: Value | None, new: Value | None, domains: Value | None) -> None:
        """A new name counts as a rename, even the first one."""
        beside = "" if domains is None else "_with_domains"
        lists: dict[str, tuple[Entity, ...]] = {}
        if domains is not None:
            lists["domains"] = self.targets("domains", "product_domain", domains)
        name = _name(new)
        if name is not None and name != _name(old):
            self.ask(f"data_product.rename{beside}", lists=lists)
        old_assets = set(self._stored_targets("dataProductProperties", "asset"))
        new_assets = set(self.targets("dataProductProperties", "asset", new))
        if old_assets != new_assets:
            lists["assets"] = tuple(sorted(old_assets ^ new_assets))
            self.ask(f"data_product.assets.change{beside}", lists=lists)

    def _check_place(
        self, operation: str, aspect: str, old: Value | None, new: Value | None
    ) -> None:
        """Checks the old parent and the new one."""
        for place in sorted(self._places(aspect, old) ^ self._places(aspect, new)):
            self.ask(operation, place)

    def _places(self, aspect: str, value: Value | None) -> set[Entity]:
        """The parents of an entity by an aspect's value."""
        facts = self._stated_facts(aspect, value)
        lying = {fact.parent for fact in facts if isinstance(fact, Placement)}
        return lying | set(self.targets(aspect, "container", value))

    def _check_parent(self, new: Value | None) -> None:
        parents = self.targets("logicalParent", "logical_parent", new)
        if parents:
            self.ask("logical_parent.set", targets={"logical": parents[0]})
        else:
            self.ask("logical_parent.clear")

    def _check_tags(self, aspect: str, old: Value | None, new: Value | None) -> None:
        if not self._switches.constraints:
            return
        of_columns = aspect != "globalTags" and self._entity.type == "dataset"
        operation = "column.tags.edit" if of_columns else "tags.edit"
        old_tags, new_tags = _tags(aspect, old), _tags(aspect, new)
        changed = {
            tag
            for place in old_tags.keys() | new_tags.keys()
            for tag in old_tags.get(place, set()) ^ new_tags.get(place, set())
        }
        if changed:
            tags = tuple(Entity("tag", tag) for tag in sorted(changed))
            self.ask(operation, subresources=tags)

    def _check_columns(self, change: ColumnChange | None) -> None:
        """Refuses column changes by users bound by a filter or mask; notes those that need one.

        Raises `BadInput` if columns that a filter or mask needs must be kept.
        """
        if change is None or not change.is_change:
            return
        state, request = self._desk.realm(self._realm), self.request("entity.update")
        if self._switches.rest and is_limited(state.matrix, request):
            raise NotAllowed(request, f"{_LIMITED} `{self._entity.name}`")
        ids = change.needed_by(state.matrix.snapshot)
        if ids and not self._switches.needed_columns:
            raise BadInput(
                f"{', '.join(sorted(change.gone))}: needed by {', '.join(ids)} (row filters and"
                " column masks); change these first (setting `datahub.needed_columns`)"
            )
        if ids:
            self._record_needed(request, sorted(change.gone), ids)

    def _record_needed(self, request: Request, columns: Sequence[str], ids: Sequence[str]) -> None:
        reason = "filters or masks need columns that are gone"
        details = {"columns": [*columns], NEEDED_BY: [*ids]}
        self._desk.audit(request.operation, request.target, "allow", reason, self._realm, details)

    def targets(self, aspect: str, kind: str, value: Value | None) -> tuple[Entity, ...]:
        """The entities that the aspect's value refers to by relations of a kind."""
        facts = self._stated_facts(aspect, value)
        edges = (fact for fact in facts if isinstance(fact, RelationRow) and fact.kind == kind)
        return tuple(sorted(edge.target for edge in edges))

    def _stored_targets(self, aspect: str, kind: str) -> Iterator[Entity]:
        snapshot = self._desk.realm(self._realm).matrix.snapshot
        for fact in stored_facts(self._entity, aspect, snapshot):
            if isinstance(fact, RelationRow) and fact.kind == kind:
                yield fact.target

    def _stated_facts(self, aspect: str, value: Value | None) -> frozenset[Any]:
        if value is None:
            return frozenset()
        model = self._desk.realm(self._realm).system.model
        return stated_facts(self._entity, aspect, value, model, datahub)


def _group_names(facts: Iterable[Any]) -> set[str]:
    return {fact.of.name for fact in facts if isinstance(fact, MembershipRow)}


def _name(properties: Value | None) -> object:
    return None if properties is None else without_avro_type(properties.get("name"))


def _tags(aspect: str, value: Value | None) -> dict[str, set[str]]:
    """The tags by field path; those of the entity itself under an empty path."""
    if value is None:
        return {}
    if aspect == "globalTags":
        return {"": _tag_urns(value)}
    key = "fields" if aspect == "schemaMetadata" else "editableSchemaFieldInfo"
    tags_by_path: dict[str, set[str]] = {}
    for field in _objects(value.get(key)):
        path = str(without_avro_type(field.get("fieldPath", "")))
        tags_by_path.setdefault(path, set()).update(_tag_urns(field.get("globalTags")))
    return tags_by_path


def _tag_urns(tags: object) -> set[str]:
    holder = without_avro_type(tags)
    members = holder.get("tags") if isinstance(holder, Mapping) else None
    return {str(without_avro_type(association.get("tag", ""))) for association in _objects(members)}


def _objects(members: object) -> list[Mapping[str, Any]]:
    """The objects of a list, in either of the two spellings."""
    values = without_avro_type(members)
    inner = (without_avro_type(value) for value in values) if isinstance(values, list) else ()
    return [member for member in inner if isinstance(member, Mapping)]
