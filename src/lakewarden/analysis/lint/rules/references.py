"""Names without an entity or principal, and rows that do not fit."""

from __future__ import annotations

from collections.abc import Iterator
from difflib import get_close_matches

from lakewarden.analysis.lint.applicability import TYPE, chooses
from lakewarden.analysis.lint.finding import Severity, Violation, rule
from lakewarden.analysis.lint.lint_context import (
    LintContext,
    at,
    criteria_of,
    principal_place,
    some,
    values_of,
)
from lakewarden.analysis.lint.place import Place
from lakewarden.kernel.entity import Entity
from lakewarden.kernel.model import ANY, Model
from lakewarden.kernel.principal import IMPLIED
from lakewarden.kernel.statement import Condition, On, Statement

_MAX_NEIGHBOURS = 5_000
"""The maximum number of siblings to search for a similar name."""
_DEPRECATED = "deprecated"
_RUNS_AS = "owner_principal"
_USE = "principal.use"


@rule(
    title="Statement that names an entity that is not stored",
    severity=Severity.WARNING,
    why="The name is misspelled, or the entity was renamed or dropped. In systems that evaluate"
    " names before they are stored (CDAP, DataHub), the statement is in effect: an entity created"
    " with that name is accessible immediately.",
    mend="Name an existing entity, or delete the statement.",
    source="CDAP authorization reference 5.1.2: privileges are granted beforehand",
    misses="Does not check values of STARTS_WITH, of URN and of TYPE, or fields whose entities"
    " were not read at all. Also reports intentional grants on entities that do not exist yet.",
)
def dangling_entity(context: LintContext) -> Iterator[Violation]:
    for statement in context.in_force:
        names = list(dict.fromkeys(missing(context, statement)))
        if names:
            near = _similar_name(context, statement)
            yield Violation(
                at(statement),
                f"names {some(names)}, which {'is' if len(names) == 1 else 'are'} not stored",
                f"did you mean `{near}`?" if near else "name an existing entity, or delete it",
            )


def missing(context: LintContext, statement: Statement) -> Iterator[str]:
    """The names in the statement that are not stored, as text."""
    scope = statement.scope
    if isinstance(scope, On):
        if not context.is_stored(scope.entity):
            yield str(scope.entity)
        return
    for criterion in criteria_of(statement):
        if criterion.condition is not Condition.STARTS_WITH:
            types = _types_of(context, criterion.field)
            for value in criterion.values if types else ():
                if not any(context.is_stored(Entity(type, value)) for type in types):
                    yield value


def _types_of(context: LintContext, field: str) -> frozenset[str]:
    """The types that a field's values name; empty if they do not certainly name entities."""
    declared = context.model.fields[field]
    types = set(declared.itself | declared.up)
    for origin in declared.origin:
        if origin in context.model.relations:
            types |= context.model.relations[origin].targets
    # If no entity of a type is stored, that type was not read at all.
    return frozenset(types) if any(context.snapshot.of_type(t) for t in types) else frozenset()


def _similar_name(context: LintContext, statement: Statement) -> str:
    """A stored sibling of the missing entity that is spelt almost like it."""
    if not isinstance(statement.scope, On):
        return ""
    entity = statement.scope.entity
    parent = context.coded.spelling.parent(entity)
    above = None if parent is None else context.tree.find(parent)
    if above is None:
        return ""
    beside = context.tree.subtree(above) & context.snapshot.of_type(entity.type)
    names = [context.tree.names[id] for id in beside[:_MAX_NEIGHBOURS]]
    near = get_close_matches(entity.name, names, n=1, cutoff=0.85)
    return f"{entity.type}:{near[0]}" if near else ""


@rule(
    title="User, group or role that is named but not stored",
    severity=Severity.WARNING,
    why="The name is misspelled, or the principal was deleted and is still referenced. A new"
    " principal with that name gets its privileges and ownership.",
    mend="Correct the name, or remove the references to it.",
    source="DataHub, PolicyEngine: actors that were never ingested match; design of the kernel",
    misses="Does not check users, groups or roles if none of that kind is stored, because then"
    " they were not read.",
)
def dangling_principal(context: LintContext) -> Iterator[Violation]:
    memberships = context.memberships
    kinds = {context.principal(id).kind for id in memberships.stored}
    named: dict[int, list[str]] = {}
    for statement in context.in_force:
        for principal in statement.principals:
            named.setdefault(memberships.ids[principal], []).append(f"statement {statement.id}")
    for member, groups in memberships.of.items():
        if groups:
            named.setdefault(member, []).append("a membership")
    for owner in context.snapshot.owned_by:
        named.setdefault(owner, []).append("an owner")
    for id in sorted(named):
        principal = context.principal(id)
        if id in memberships.stored or principal.kind == IMPLIED or principal.kind not in kinds:
            continue
        yield Violation(
            principal_place(principal),
            f"is named by {some(named[id])}, but is not stored",
            f"correct the name, or add the {principal.kind}",
        )


@rule(
    title="Privilege under a former name, or deprecated privilege",
    severity=Severity.NOTE,
    why="It is valid today, but a later release of the system may no longer support it.",
    mend="Use the current name.",
    source="Gravitino 1.1.0: CREATE_MODEL; DataHub Policies Guide: footnotes of the tables",
)
def deprecated_privilege(context: LintContext) -> Iterator[Violation]:
    model = context.model
    named: dict[str, list[str]] = {}
    for statement in context.in_force:
        for name in () if statement.id in context.shipped else statement.privileges:
            named.setdefault(name, []).append(statement.id)
    for name in sorted(named):
        privilege = model.privilege(name)
        stands = f"is in {some(named[name])}"
        if privilege.name != name:
            yield Violation(
                Place("privilege", name),
                f"is a former name of {privilege.name}, and {stands}",
                f"use {privilege.name}",
            )
        elif _DEPRECATED in privilege.flags:
            yield Violation(
                Place("privilege", name),
                f"is deprecated, and {stands}",
                "do not use it in new statements, and remove it from these statements",
            )


@rule(
    title="Row that an ingestion rejected",
    severity=Severity.WARNING,
    why="The row has no effect, so its tag, parent or policy is missing. If a policy excludes"
    " entities with a tag, it covers an entity whose tag was rejected.",
    mend="Correct the row at its source.",
    source="lakewarden pipeline ingest: quarantine",
    misses="Does not report rows on a server: only a directory stores rejected rows.",
)
def set_aside(context: LintContext) -> Iterator[Violation]:
    for row in context.set_aside:
        detail = f" ({row.detail})" if row.detail else ""
        yield Violation(
            Place("row", row.place or row.row),
            f"was set aside: {row.reason}{detail}; ignored: {row.table} {row.row}",
            "correct it at its source, and ingest again",
        )


@rule(
    title="Containers or memberships that form a cycle, or are nested too deeply",
    severity=Severity.ERROR,
    why="A cycle is stored but not followed, so it does not provide the intended access.",
    mend="Break the cycle.",
    source="lakewarden: cycles and levels; DataHub, ContainerFieldResolverProvider",
)
def unfollowed_cycle(context: LintContext) -> Iterator[Violation]:
    tree, memberships = context.tree, context.memberships
    circles = [
        (tree.looped & tree.stored, "form a cycle of containers, and have no other parents"),
        (tree.deep & tree.stored, "are nested too deeply, and every request on them is denied"),
    ]
    for ids, says in circles:
        if ids:
            names = some(map(context.entity, ids), len(ids))
            yield Violation(
                Place(*tree.entity(ids.min())), f"{names} {says}", "correct their containers"
            )
    looped = sorted({member for member, _ in memberships.inert})
    for members, says in (
        (looped, "are members of themselves, and those memberships are not followed"),
        (sorted(memberships.too_nested), "have too many nested memberships: denied"),
    ):
        if members:
            principals = [context.principal(id) for id in members]
            yield Violation(
                Place(principals[0].kind, principals[0].name),
                f"{some(principal.name for principal in principals)} {says}",
                "remove one of the memberships",
            )


@rule(
    title="Privilege that the system does not have",
    severity=Severity.ERROR,
    why="The statement grants nothing by this name, and the intended privilege is not granted"
    " either.",
    mend="Correct the name.",
    source="DataHub documentation, Policies Guide: list of privileges",
    misses="Reports incoming rows only: stored statements cannot contain unknown privileges. The"
    " report of an ingestion lists what it omitted.",
)
def unknown_privilege(context: LintContext) -> Iterator[Violation]:
    known = list(context.model.privileges)
    for statement, strange in context.unknown:
        near = get_close_matches(strange[0].upper(), known, n=1)
        yield Violation(
            at(statement),
            f"names {some(strange)}, which {context.model.title} does not have",
            f"did you mean {near[0]}?"
            if near
            else "`lakewarden operations --privileges` lists them",
        )


def _impersonates(model: Model) -> bool:
    return _RUNS_AS in model.relations and _USE in model.operations


@rule(
    title="Namespace whose programs run as a user whom no other user may impersonate",
    severity=Severity.NOTE,
    why="Deploying into the namespace requires ADMIN on the principal that it runs as.",
    mend="Grant ADMIN on the principal, or leave the namespace to that user.",
    source="CDAP authorization reference 5.1.2: impersonation, ADMIN on the owner principal",
    applies=_impersonates,
)
def unusable_principal(context: LintContext) -> Iterator[Violation]:
    for target, sources in sorted(context.coded.relations[_RUNS_AS].inverted().items()):
        entity = context.tree.entity(target)
        needed = {name for way in context.meaning.ways(_USE, entity.type) for name in way}
        grants = (g for name in needed for g in context.table.allows(name).every)
        if not any(target in context.ids(grant) for grant in grants):
            for source in sources:
                yield Violation(
                    Place(*context.tree.entity(source)),
                    f"runs its programs as `{entity.name}`, and only that user may deploy as it",
                    f"grant ADMIN on `{entity}` to the users who deploy there",
                )


@rule(
    title="Privilege in a policy of the wrong kind, or on a type to which it does not apply",
    severity=Severity.WARNING,
    why="Platform privileges are checked without a resource. A metadata policy with resources"
    " never matches such a check, so the access that it appears to grant is denied.",
    mend="Use separate policies for platform privileges and metadata privileges.",
    source="DataHub documentation, Policies Guide: what is a policy; tables of privileges",
    applies=chooses,
    misses="Does not report metadata privileges in platform policies, which cover everything; see"
    " `no-resources`. If only some of the privileges do not apply to the type, the severity is"
    " note.",
)
def wrong_type(context: LintContext) -> Iterator[Violation]:
    model = context.model
    for statement in context.policies:
        privileges = [model.privileges[name] for name in sorted(context.privileges(statement))]
        platform = [p.name for p in privileges if not p.on]
        types = frozenset(values_of(statement, TYPE))
        if platform and not any(_manages(context, name, types) for name in platform):
            yield Violation(
                at(statement),
                f"has resources, but {some(platform)} applies without a resource",
                "move them to a policy of type PLATFORM",
            )
        others = [p.name for p in privileges if types and p.on and not p.on & {ANY, *types}]
        if others:
            yield Violation(
                at(statement),
                f"selects {some(sorted(types))}, to which {some(others)} does not apply",
                "remove it, or add the types to which it applies",
                Severity.WARNING if len(others) == len(privileges) else Severity.NOTE,
            )


def _manages(context: LintContext, privilege: str, types: frozenset[str]) -> bool:
    """Whether an operation on one of the types requires the privilege there."""
    return any(context.meaning.opens(privilege, type) for type in types) or (
        privilege in context.meaning.granting
    )
