"""The wanted state of a Ranger service, from the planner of the documents that plugins download."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, NamedTuple

from lakewarden.engines import mapping as mappings
from lakewarden.engines import ranger_service
from lakewarden.engines.mapping import ON, EngineMapping
from lakewarden.engines.ranger_service import CATALOG, FILE_SYSTEM, RangerService
from lakewarden.kernel.errors import BadInput
from lakewarden.pushdown.ranger.marks import LABEL, Marks
from lakewarden.pushdown.ranger.state import (
    ACCESS,
    ITEMS,
    ZONE_NAME,
    Held,
    Json,
    overlaps,
    policy_content,
    role_content,
    signature,
)
from lakewarden.pushdown.ranger.style import Form, RangerForm, RangerStyle
from lakewarden.pushdown.ranger.tags import about_tags, tag_policy, tagged_of
from lakewarden.pushdown.ranger.zones import Zone
from lakewarden.service.column_types import types_by_table
from lakewarden.service.ports import Reading
from lakewarden.service.push_target import PushTarget
from lakewarden.service.ranger.definition import MASKS
from lakewarden.service.ranger.document import Documents, documents
from lakewarden.service.ranger.file_places import files_of
from lakewarden.service.ranger.places import Naming
from lakewarden.service.ranger.tag_masks import TAG
from lakewarden.service.residue import Residue, Residues
from lakewarden.service.state import RealmState

_CASE: Final = "ignoreCase"


def service_of(
    type: str, definition: Mapping[str, Any], name: str, file_system: str = ""
) -> RangerService:
    """The service type as this Ranger defines it, for a service on `file_system`.

    Raises `BadInput` for an unsupported type, for a missing or superfluous file system, and for a
    definition by which policies would open more than they name.
    """
    if type not in ranger_service.TYPES:
        expected = ", ".join(ranger_service.TYPES)
        message = f"the service `{name}` is of type `{type}`; expected one of: {expected}"
        raise BadInput(message, where="url")
    service = ranger_service.load(type)
    is_file_system = service.governs == FILE_SYSTEM
    if is_file_system != bool(file_system):
        option = "`?file_system=hdfs://HOST:PORT` in the address"
        message = f"a service of type `{type}` does not accept {option}"
        if is_file_system:
            message = f"a service of type `{type}` needs {option}"
            message += "; if the catalog declares it, set its `location`"
        raise BadInput(message, where="url")
    resources = {str(one.get("name")): one for one in definition.get("resources") or ()}
    accesses = {str(one.get("name")) for one in definition.get("accessTypes") or ()}
    levels = {level.named for level in service.levels.values() if level.part and not level.hidden}
    for missing in sorted(levels - resources.keys()):
        raise BadInput(f"the service type `{type}` of this Ranger has no resource `{missing}`")
    given = {one.name for one in service.accesses.values() if not one.never}
    for missing in sorted(given - accesses):
        raise BadInput(f"the service type `{type}` of this Ranger has no access `{missing}`")
    masks = (definition.get("dataMaskDef") or {}).get("maskTypes") or ()
    unmasked = {*MASKS} - {str(one.get("name")) for one in masks}
    for missing in sorted(unmasked if service.reading is not None else ()):
        raise BadInput(f"the service type `{type}` of this Ranger has no mask `{missing}`")
    for level in sorted(levels):
        options = resources[level].get("matcherOptions") or {}
        if not service.folds and str(options.get(_CASE, "true")).lower() != "false":
            message = f"`{type}` of this Ranger ignores the case of `{level}`"
            raise BadInput(f"{message}; set `{_CASE}` of it to `false` in the service type")
    for one in service.levels.values():
        if one.located and not resources[one.named].get("recursiveSupported"):
            message = f"`{one.named}` of the service type `{type}` of this Ranger does not support"
            raise BadInput(f"{message} folders; set `recursiveSupported` of it to `true`")
    return service


@dataclass(frozen=True, slots=True)
class Zones:
    """The security zones of the service, and the target's own, "" for resources in no zone.

    `all` is None if the account may not see them. zones `with_target` have their own target.
    """

    own: str = ""
    all: Sequence[Zone] | None = ()
    with_target: frozenset[str] = frozenset()

    @property
    def names(self) -> list[str]:
        """The names of all zones."""
        return [one.name for one in self.all or ()]

    def required(self, service: str) -> None:
        """Raises `BadInput` if the target's zone is not one of the service."""
        if not self.own or self.own in self.names:
            return
        message = f"the service `{service}` has no resources in a security zone `{self.own}`"
        if self.all is None:
            message = (
                "the account may not see security zones; give it access to that module of Ranger"
            )
        raise BadInput(message, where="url")


_NO_ZONES: Final = Zones()


@dataclass(frozen=True, slots=True)
class Stored:
    """The store, and settings of the service that Ranger does not provide or keeps elsewhere.

    `file_system` is the address of the service's file system, "" for none. With `by_tags`, masks
    by tags become policies about tags. Guids in `beside` are of policies that other targets of
    the realm pushed. The `marks` distinguish our objects from those of others.
    """

    reading: Reading
    marks: Marks
    file_system: str = ""
    zones: Zones = _NO_ZONES
    by_tags: bool = False
    beside: frozenset[str] = frozenset()


class DesiredState(NamedTuple):
    """The wanted state, the residues, and everything that the realm allows in any zone."""

    held: Held
    residues: Residues
    allowed: Held


def desired_state(
    realm: RealmState,
    target: PushTarget,
    service: RangerService,
    found: Held,
    now: float,
    stored: Stored,
    style: RangerStyle | None = None,
) -> DesiredState:
    """The policies and roles that should exist beside those of others, and the residues.

    Raises `StaleSnapshot` for a time outside the interval of the realm's snapshot, `BadInput`
    if the realm has no rules for the engine.
    """
    mapping = mapping_of(realm, service)
    if service.governs == CATALOG and not target.catalog:
        message = f"a service of type `{service.type}` covers one catalog; add the target with"
        raise BadInput(f"{message} `{target.metalake}.CATALOG`", where="catalog")
    residues = Residues()
    naming = naming_of(realm, target, service, stored, residues)
    if style is not None:
        form = _form_of(style, target, service, stored)
        made_form = form(realm, mapping, service, naming, now, residues, found.other_roles)
        return _styled(style.label, made_form, found, stored)
    types = types_by_table(stored.reading, realm)
    made = documents(realm, mapping, service, naming, now, residues, types)
    return _managed_documents(made, service, found, stored)


def _form_of(
    style: RangerStyle, target: PushTarget, service: RangerService, stored: Stored
) -> Form:
    """The style's form for the service type; raises `BadInput` if there is none."""
    if service.type not in style.forms:
        message = f"the style `{target.style}` has no form for the service type"
        raise BadInput(f"{message} `{service.type}`", where="style")
    if stored.by_tags:
        raise BadInput("a style has no policies about tags; remove `?tags=`", where="url")
    return style.forms[service.type]


def _managed_documents(
    made: Documents, service: RangerService, found: Held, stored: Stored
) -> DesiredState:
    """The policies and roles of the documents, with our names."""
    marks = stored.marks
    names = _role_names(marks, made.roles["rangerRoles"])
    whole = _merged(marks, made.policies["policies"], names)
    roles = {names[role["name"]]: _renamed_role(role, names) for role in made.roles["rangerRoles"]}
    policies = {}
    for content in _zoned(whole, stored.zones, made.residues).values():
        name = marks.policy(signature(content))
        policies[name] = {**content, "name": name}
    about, tagged = _by_tags(made, service, found, stored)
    policies |= _merged(marks, about, names)
    desired = _desired_state(whole, policies, roles, found, made.residues)
    guids = {one["tag"]: marks.tag_guid(one["tag"]) for one in tagged.values()}
    return desired._replace(held=replace(desired.held, tagged=tagged, tag_guids=guids))


def _by_tags(
    made: Documents, service: RangerService, found: Held, stored: Stored
) -> tuple[list[Json], Mapping[str, Json]]:
    """The policies about tags, and the tags on resources, except tags with policies of others."""
    if stored.zones.own:
        for one in made.tag_policies:
            why = "policies about tags are pushed by the target without a security zone"
            made.residues.add(Residue(why, entity=_resources_text(one)))
        return [], {}
    policies = [tag_policy(stored.marks, service, one) for one in made.tag_policies]
    about = {tag for one in made.tag_policies for tag in one["resources"][TAG]["values"]}
    others = (one for one in found.others if str(one.get("guid", "")) not in stored.beside)
    for tags, name in about_tags(service, others):
        for tag in sorted(about if tags is None else about & tags):
            why = f"the policy `{name}` of others is about the tag, so no resource gets the tag"
            made.residues.add(Residue(why, entity=f"{TAG}={tag}"))
            about.discard(tag)
    types = found.tags.types
    folded = {type.casefold(): type for type in types}
    for tag in sorted(about - types.keys()):
        if tag.casefold() in folded:
            why = f"Ranger has the tag `{folded[tag.casefold()]}`, so no resource gets this one"
            made.residues.add(Residue(why, entity=f"{TAG}={tag}"))
            about.discard(tag)
    return policies, tagged_of(one for one in made.tagged if one.tag in about)


def _desired_state(
    whole: Mapping[str, Json],
    policies: Mapping[str, Json],
    roles: Mapping[str, Json],
    found: Held,
    residues: Residues,
) -> DesiredState:
    policies = _without_duplicates(policies, found, residues)
    used = _used(policies, roles)
    held = Held(policies, {name: roles[name] for name in sorted(used)})
    return DesiredState(held, residues, Held(whole, roles))


def _zoned(policies: Mapping[str, Json], zones: Zones, residues: Residues) -> Mapping[str, Json]:
    """The policies for the target's zone: those that may be about something in it.

    Without a zone, all except those entirely about resources in zones: policies in no zone do not
    apply there. Filters and masks are kept or dropped together with the access, because all
    are checked in the same way.
    """
    if zones.own:
        (own,) = (one for one in zones.all or () if one.name == zones.own)
        return {
            name: {**content, ZONE_NAME: own.name}
            for name, content in policies.items()
            if own.may_overlap(content)
        }
    if zones.all is None:
        residues.add(Residue("the account may not see which security zones govern resources"))
    kept = {}
    for name, content in policies.items():
        zone = next((one.name for one in zones.all or () if one.has(content)), None)
        if zone is None:
            kept[name] = content
        elif zone not in zones.with_target:
            why = f"the security zone `{zone}` governs it; a target with `?zone=` pushes to it"
            residues.add(Residue(why, entity=_resources_text(content)))
    return kept


def mapping_of(realm: RealmState, service: RangerService) -> EngineMapping:
    """The rules of a realm for the engine of a service; raises `BadInput` if there are none."""
    mapping = mappings.of_model(realm.realm.model).get(service.engine.name)
    setting = service.engine.name
    if mapping is None or realm.system.model.settings.get(setting) != ON:
        message = f"set `{setting}` to `on` for the realm `{realm.realm.name}`"
        raise BadInput(f"{message}; the service of Ranger is of type `{service.type}`")
    return mapping


def naming_of(
    realm: RealmState,
    target: PushTarget,
    service: RangerService,
    stored: Stored,
    residues: Residues,
) -> Naming:
    """The part of the realm that the service governs."""
    files = None
    if service.governs == FILE_SYSTEM:
        files = files_of(stored.reading, realm, stored.file_system, residues)
    folded, by_tags = service.folds, stored.by_tags
    return Naming("", target.metalake, {}, target.catalog, files, folded=folded, by_tags=by_tags)


def _styled(label: str, form: RangerForm, found: Held, stored: Stored) -> DesiredState:
    """The policies and roles of a form, with our marks."""
    labels = [label, LABEL, stored.marks.label]
    policies = {
        one["name"]: policy_content({**one, "policyLabels": labels}) for one in form.policies
    }
    roles = {one["name"]: role_content(one) for one in form.roles}
    zoned = _zoned(policies, stored.zones, form.residues)
    return _desired_state(policies, zoned, roles, found, form.residues)


def _role_names(marks: Marks, roles: list[Json]) -> Mapping[str, str]:
    """The names of our roles: Ranger's roles are for all services, so each target has its own."""
    return {one["name"]: marks.role(one["name"].rpartition("-")[2]) for one in roles}


def _renamed_role(role: Json, names: Mapping[str, str]) -> Json:
    inner = [{"name": names[one["name"]]} for one in role.get("roles", ())]
    return role_content({**role, "roles": inner})


def _merged(marks: Marks, policies: list[Json], names: Mapping[str, str]) -> Mapping[str, Json]:
    """The policies by name; those on the same resources are merged."""
    found: dict[str, Json] = {}
    for policy in policies:
        items = ITEMS[policy["policyType"]]
        renamed = [
            {**item, "roles": [names[role] for role in item["roles"]]} for item in policy[items]
        ]
        labels = [LABEL, marks.label]
        content = policy_content({**policy, "policyLabels": labels, items: renamed})
        name = marks.policy(signature(content))
        content["name"] = name
        before = found.setdefault(name, content)
        if before is not content:
            more = [one for one in content[items] if one not in before[items]]
            found[name] = {**before, items: [*before[items], *more]}
    return found


def _without_duplicates(
    policies: Mapping[str, Json], found: Held, residues: Residues
) -> Mapping[str, Json]:
    """The policies, except those with exactly the same resources as a policy of others.

    If such a policy is a filter or a mask, access to the table is not granted either.
    """
    taken = {signature(policy_content(one)): str(one.get("name")) for one in found.others}
    names = {(str(one.get(ZONE_NAME) or ""), str(one.get("name"))) for one in found.others}
    unlimited = []
    kept = {}
    for name, content in policies.items():
        is_taken = (content.get(ZONE_NAME, ""), name) in names
        other = taken.get(signature(content)) or (name if is_taken else None)
        if other is None:
            kept[name] = content
            continue
        why = f"the policy `{other}` of others has exactly the same resources"
        residues.add(Residue(why, entity=_resources_text(content)))
        if content["type"] != ACCESS:
            unlimited.append(content)
    for name, content in [*kept.items()] if unlimited else ():
        if content["type"] == ACCESS and any(overlaps(content, one) for one in unlimited):
            why = "a policy of others has the resources of its filter or mask"
            residues.add(Residue(why, entity=_resources_text(content)))
            del kept[name]
    return kept


def _resources_text(content: Json) -> str:
    parts = (f"{level}={','.join(one['values'])}" for level, one in content["resources"].items())
    return " ".join(parts)


def _used(policies: Mapping[str, Json], roles: Mapping[str, Json]) -> frozenset[str]:
    """The roles that policies name, and the roles in these."""
    todo = [
        role
        for content in policies.values()
        for item in content.get(ITEMS[content["type"]], ())
        for role in item.get("roles", ())
    ]
    used: set[str] = set()
    while todo:
        role = todo.pop()
        if role not in used:
            used.add(role)
            todo += [inner for inner, _ in roles[role].get("roles", ())]
    return frozenset(used)
