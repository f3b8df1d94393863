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
    title="A statement that names an entity which is not stored",
    severity=Severity.WARNING,
    why="A name that was misspelt, renamed or dropped. Where names are judged before they are"
    " stored (CDAP, DataHub) the statement counts: whoever makes that name opens it.",
    mend="Name what is there now, or delete the statement.",
    source="CDAP authorization reference 5.1.2: privileges are granted beforehand",
    misses="Values of STARTS_WITH, of URN and of TYPE; fields whose entities were not read at all."
    " A grant made on purpose before its entity is created is found, too.",
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
            yield f"{scope.entity.type}:{scope.entity.name}"
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
    title="A user, group or role that is named but not stored",
    severity=Severity.WARNING,
    why="Misspelt, or gone and still named. Whoever is given that name next finds privileges and"
    " possessions waiting.",
    mend="Correct the name, or remove what names it.",
    source="DataHub, PolicyEngine: actors that were never ingested match; design of the kernel",
    misses="Kinds of which nobody at all is stored: there the people were not read.",
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
            f"is named by {some(named[id])}, and is not stored",
            f"correct the name, or add the {principal.kind}",
        )


@rule(
    title="A privilege by its older name, or one that is deprecated",
    severity=Severity.NOTE,
    why="It counts today. Another release of the system may not know it any more.",
    mend="Use the present name.",
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
                f"is an older name of {privilege.name}, and {stands}",
                f"write {privilege.name}",
            )
        elif _DEPRECATED in privilege.flags:
            yield Violation(
                Place("privilege", name),
                f"is deprecated, and {stands}",
                "do not use it in new statements, and remove it from these",
            )


@rule(
    title="A row that was read, rejected, and has no effect",
    severity=Severity.WARNING,
    why="Its tag, parent or policy is missing here. Where a policy excludes what is tagged, an"
    " entity whose tag was lost is covered.",
    mend="Correct it at its source.",
    source="lakewarden pipeline ingest: quarantine",
    misses="What a server holds: only a directory keeps what was set aside.",
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
    title="Containers or memberships that form a cycle, or are nested too deep",
    severity=Severity.ERROR,
    why="A cycle is stored but not followed: it does not give the intended access.",
    mend="Break the cycle.",
    source="lakewarden: cycles and levels; DataHub, ContainerFieldResolverProvider",
)
def unfollowed_cycle(context: LintContext) -> Iterator[Violation]:
    tree, memberships = context.tree, context.memberships
    circles = [
        (tree.looped & tree.stored, "form a cycle of containers, and have no other parents"),
        (tree.deep & tree.stored, "are nested too deep, and every request on them is denied"),
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
        (sorted(memberships.beyond), "have too many nested memberships: denied"),
    ):
        if members:
            principals = [context.principal(id) for id in members]
            yield Violation(
                Place(principals[0].kind, principals[0].name),
                f"{some(principal.name for principal in principals)} {says}",
                "remove one of the memberships",
            )


@rule(
    title="A privilege that the system does not have",
    severity=Severity.ERROR,
    why="It allows nothing, and what was meant is not allowed either.",
    mend="Correct the name.",
    source="DataHub documentation, Policies Guide: list of privileges",
    misses="Stored statements cannot hold such a word; rows on their way in can. What an ingestion"
    " left out stands in its report.",
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
    title="A namespace whose programs run as a user whom no other user may impersonate",
    severity=Severity.NOTE,
    why="Whoever deploys into the namespace needs ADMIN on the principal that it runs as.",
    mend="Grant it, or leave the namespace to that user.",
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
                    f"grant ADMIN on `{entity.type}:{entity.name}` to the users who deploy there",
                )


@rule(
    title="A privilege in a policy of the wrong kind, or on a type to which it does not apply",
    severity=Severity.WARNING,
    why="Platform privileges are asked without a resource. A metadata policy with resources never"
    " answers such a question, so what it seems to allow stays closed.",
    mend="One policy for the platform, another for the metadata.",
    source="DataHub documentation, Policies Guide: what is a policy; tables of privileges",
    applies=chooses,
    misses="Metadata privileges in platform policies; those cover everything, see `no-resources`."
    " One of several privileges that is not for the type is a note.",
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
                f"has resources, and {some(platform)}, which applies without a resource",
                "move them into a policy of the type PLATFORM",
            )
        others = [p.name for p in privileges if types and p.on and not p.on & {ANY, *types}]
        if others:
            yield Violation(
                at(statement),
                f"is about {some(sorted(types))}, for which {some(others)} is not offered",
                "remove it, or add the types to which it applies",
                Severity.WARNING if len(others) == len(privileges) else Severity.NOTE,
            )


def _manages(context: LintContext, privilege: str, types: frozenset[str]) -> bool:
    """Whether an operation on one of the types requires the privilege there."""
    return any(context.meaning.opens(privilege, type) for type in types) or (
        privilege in context.meaning.granting
    )
