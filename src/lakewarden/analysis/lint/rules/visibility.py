"""Who sees which assets."""

from __future__ import annotations

from collections.abc import Iterator

from pyroaring import BitMap

from lakewarden.analysis.lint.applicability import (
    CONTAINER,
    DOMAIN,
    TYPE,
    chooses,
    is_restricted,
    narrows,
    shows,
)
from lakewarden.analysis.lint.finding import Severity, Violation, rule
from lakewarden.analysis.lint.lint_context import (
    LintContext,
    at,
    principal_place,
    some,
    union,
    values_of,
)
from lakewarden.analysis.lint.place import Place
from lakewarden.kernel.entity import Entity
from lakewarden.kernel.principal import ROLE
from lakewarden.kernel.statement import Effect

MAX_LEVELS = 3
"""Up to this many levels of nested domains are still shallow."""
_OSS = "oss"


@rule(
    title="Assets made visible through a container of containers",
    severity=Severity.WARNING,
    why="DataHub walks from table to schema to database for every check. A database is also a"
    " technical boundary: anything added to it later becomes visible to the same users.",
    mend="Select by owner, tag or term, or otherwise by the innermost container.",
    source="DataHub documentation, Policies Guide: container-based policies on deep chains",
    applies=shows,
)
def deep_container(context: LintContext) -> Iterator[Violation]:
    types = context.model.fields[CONTAINER].up if CONTAINER in context.model.fields else ()
    for statement in context.policies:
        if not context.privileges(statement) & context.meaning.view_privileges:
            continue
        for name in values_of(statement, CONTAINER):
            ids = (context.tree.find(Entity(type, name)) for type in types)
            inside = [context.tree.subtree(id) - BitMap([id]) for id in ids if id is not None]
            # Containers with containers: a database with schemas, not a schema with tables.
            if any(below & context.snapshot.of_type(t) for below in inside for t in types):
                yield Violation(
                    at(statement),
                    f"makes assets visible through `{name}`, a container of containers",
                    "select by owner, or by the innermost containers",
                )


@rule(
    title=f"Policy by a domain with more than {MAX_LEVELS} levels of domains",
    severity=Severity.WARNING,
    why="Every check in DataHub walks the whole chain, and the top-level domain does not show what"
    " may be added at the lowest level.",
    mend="Keep domain trees shallow.",
    source="DataHub documentation, Policies Guide: keep domain hierarchies shallow",
    applies=chooses,
)
def deep_domain(context: LintContext) -> Iterator[Violation]:
    levels: dict[str, int] = {}
    for statement in context.policies:
        for name in values_of(statement, DOMAIN):
            if name not in levels:
                levels[name] = _levels(context, name)
            if levels[name] > MAX_LEVELS:
                yield Violation(
                    at(statement),
                    f"selects by `{name}`, the top of {levels[name]} levels of domains",
                    f"flatten the domains to {MAX_LEVELS} levels, or select by owner",
                )


def _levels(context: LintContext, name: str) -> int:
    """The number of domain levels from this domain down."""
    types = context.model.fields[DOMAIN].itself
    ids = [context.tree.find(Entity(type, name)) for type in types]
    deepest = 0
    for id in ids:
        if id is None:
            continue
        inside = context.tree.subtree(id)
        for type in types:
            for entity in inside & context.snapshot.of_type(type):
                above = 1
                for other in context.tree.ancestors(entity):
                    if entity == id:
                        break
                    above += 1
                    if other == id:
                        break
                deepest = max(deepest, above)
    return deepest


@rule(
    title="Domain used as the boundary of visibility",
    severity=Severity.NOTE,
    why="DataHub walks up the domains for every search hit. lakewarden does not, so here the"
    " question is only who maintains the boundary: an asset without a domain is not covered.",
    mend="Prefer ownership. Use domains for domain entities and for discovery in DataHub Cloud.",
    source="DataHub documentation, Policies Guide: domains and containers; pattern A",
    applies=shows,
)
def domain_boundary(context: LintContext) -> Iterator[Violation]:
    for statement in context.policies:
        domains = values_of(statement, DOMAIN)
        types = values_of(statement, "TYPE")
        only_words = types and not context.meaning.assets & set(types)
        if (
            domains
            and not only_words
            and context.privileges(statement) & context.meaning.view_privileges
        ):
            yield Violation(
                at(statement),
                f"makes assets visible by domain ({some(domains)})",
                "assign owners at ingestion and select by owner; use domains for the domain pages",
            )


@rule(
    title="Reader or Editor role assigned, where policies restrict visibility",
    severity=Severity.WARNING,
    why="The policies of these roles have no resource filter. Their holders see every entity, so"
    " policies by domain and by owner do not restrict them.",
    mend="Do not assign Reader or Editor to users whose visibility is restricted.",
    source="DataHub documentation, Policies Guide: roles and VBAC; anti-patterns",
    applies=shows,
    misses="Does not report roles that may write policies: Admin is for platform operators.",
)
def role_overrides_views(context: LintContext) -> Iterator[Violation]:
    if not is_restricted(context):
        return
    meaning, memberships = context.meaning, context.memberships
    assets = union(context.snapshot.of_type(type) for type in meaning.assets)
    for id in sorted(memberships.members):
        role = context.principal(id)
        if role.kind != ROLE or not assets:
            continue
        alone = frozenset({id})
        visible = union(
            context.reach(Effect.ALLOW, name, alone) for name in meaning.view_privileges
        )
        # A role that may write policies is for administration, which includes seeing everything.
        administers = any(context.reach(Effect.ALLOW, name, alone) for name in meaning.granting)
        if assets <= visible and not administers:
            yield from _role_violation(context, id)


def _role_violation(context: LintContext, id: int) -> Iterator[Violation]:
    members = [context.principal(member) for member in sorted(context.memberships.members[id])]
    if members:
        yield Violation(
            principal_place(context.principal(id)),
            f"makes everything visible, regardless of policies by domain or owner, to"
            f" {some(member.name for member in members)}",
            "revoke the role where visibility is restricted, and use a policy to grant its"
            " other privileges",
        )


@rule(
    title="Restricted visibility, with a search that is not filtered",
    severity=Severity.NOTE,
    why="VIEW_AUTHORIZATION_ENABLED alone does not keep other teams' data out of search results.",
    mend="Search through lakewarden, which filters before it counts and pages.",
    source="DataHub documentation, Policies Guide: anti-patterns, OSS view authorization",
    applies=shows,
)
def search_guard(context: LintContext) -> Iterator[Violation]:
    if not is_restricted(context):
        return
    settings = context.model.settings
    if settings.get("view_authorization") == "off":
        yield Violation(
            Place("realm", context.model.name),
            "policies restrict visibility, but view authorization is off: every user can open"
            " every page",
            "turn it on (`datahub.view`, `VIEW_AUTHORIZATION_ENABLED`, or the realm's setting"
            " `view_authorization`)",
        )
    elif settings.get("views") == _OSS:
        yield Violation(
            Place("realm", context.model.name),
            "policies restrict visibility; open source DataHub masks hits only after the search,"
            " so names, counts and facets can disclose entities",
            "search through lakewarden, or use Search Access Controls of DataHub Cloud",
        )


@rule(
    title="Policy that shows all assets of a type, where other policies restrict visibility",
    severity=Severity.WARNING,
    why="Policies are additive. A policy that shows all datasets makes every policy that shows"
    " some of them pointless for the same users; often it was written for another purpose.",
    mend="Separate view privileges from edit privileges, and select by owner, domain or tag.",
    source="DataHub documentation, Policies Guide: view-based access control, recommended patterns",
    applies=shows,
    misses="Also reports platform teams that are meant to see everything (pattern A); ignore it"
    " for those.",
)
def view_by_type(context: LintContext) -> Iterator[Violation]:
    if not is_restricted(context):
        return
    for statement in context.policies:
        named = context.privileges(statement)
        seeing = sorted(named & context.meaning.view_privileges)
        types = context.meaning.assets & set(values_of(statement, TYPE))
        if not seeing or not types or narrows(statement) or statement.owners is not None:
            continue
        beside = named & context.meaning.changing
        purpose = ", in a policy for editing" if beside else ""
        yield Violation(
            at(statement),
            f"makes every {some(sorted(types))} visible{purpose}, where other policies restrict"
            " visibility",
            f"remove {', '.join(seeing)}, and grant visibility of the edited assets in other"
            " policies",
        )
