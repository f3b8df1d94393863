"""Assets without owners, and owners that do not exist."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from pyroaring import BitMap

from lakewarden.analysis.lint.applicability import CONTAINER, chooses, shows
from lakewarden.analysis.lint.finding import Severity, Violation, rule
from lakewarden.analysis.lint.lint_context import LintContext, at, some, union
from lakewarden.analysis.lint.place import Place
from lakewarden.kernel.model import Model

_USUALLY_OWNED = 0.75
"""If this share of a container's siblings has owners, those without are reported."""


@rule(
    title="Assets that no policy by owner, domain, container, tag or term matches",
    severity=Severity.WARNING,
    why="Policies that select by these fields omit the asset. Policies with NOT_EQUALS or without"
    " criteria include it: excluding the domain of personal data does not exclude a stray copy"
    " outside the domain.",
    mend="Assign owners and domains at ingestion.",
    source="DataHub documentation, Policies Guide: ownership-based access",
    applies=chooses,
    misses="Does not report types for which this applies to most entities.",
)
def homeless_entity(context: LintContext) -> Iterator[Violation]:
    tree = context.tree
    placed = BitMap.union(BitMap(), *context.snapshot.owned_by.values())
    kinds = {origin for field in context.model.fields.values() for origin in field.origin}
    for kind in sorted(kinds & context.coded.relations.keys()):
        placed |= union(context.coded.relations[kind].inverted().values())
    for type in sorted(context.meaning.assets):
        stored = context.snapshot.of_type(type)
        bare = BitMap(id for id in stored - placed if tree.parents[id] < 0)
        if bare and len(bare) * 2 < len(stored):
            names = (tree.names[id] for id in bare)
            yield Violation(
                Place("type", type),
                f"{len(bare):,} of {len(stored):,} without an owner, domain or container:"
                f" {some(names, len(bare))}",
                "assign owners and domains at ingestion, or delete unused entities",
            )


@rule(
    title="Policy for owners of an ownership type that no owner has",
    severity=Severity.WARNING,
    why="Owners are matched by the URN of their ownership type. An owner without such a URN, as in"
    " older exports, is matched only by policies for owners of any type.",
    mend="Specify ownership types that are in use, or omit them to match owners of any type.",
    source="DataHub, PolicyEngine: resourceOwnersTypes (PR #7499)",
    applies=chooses,
)
def typed_owner(context: LintContext) -> Iterator[Violation]:
    if not context.snapshot.owned_by:
        return
    used = set(context.coded.ownerships) - {""}
    for statement in context.in_force:
        types = None if statement.owners is None else statement.owners.types
        unused = sorted((types or frozenset()) - used)
        if unused:
            yield Violation(
                at(statement),
                f"is for owners of the types {some(unused)}, but no entity has an owner"
                " of these types",
                "name the ownership types that are in use"
                + (f": {some(sorted(used))}" if used else ", or omit them for owners of any type"),
            )


def owns(model: Model) -> bool:
    """For rules about systems that have owners."""
    return any(type.owned for type in model.types.values())


@rule(
    title="Container without an owner among siblings with owners",
    severity=Severity.WARNING,
    why="No one is responsible for it. Temporary copies remain for years, and access is granted"
    " without the consent of an owner.",
    mend="Assign an owner, or drop the container.",
    source="Gravitino 1.1.0, access control page: ownership; DataHub Policies Guide: ownership",
    applies=owns,
    misses="Does not report individual tables, or containers whose siblings of the same type have"
    " no owners.",
)
def unowned_container(context: LintContext) -> Iterator[Violation]:
    tree = context.tree
    owned = union(context.snapshot.owned_by.values())
    parents = tree.above
    stored = np.asarray(tree.stored.to_array()).astype(np.int64)
    stored = stored[parents[stored] >= 0]
    # Siblings have the same parent and the same type.
    keys = parents[stored].astype(np.int64) * len(tree.kinds) + tree.types[stored]
    families, inverse = np.unique(keys, return_inverse=True)
    has_owner = np.isin(stored, np.asarray((owned & tree.stored).to_array()))
    sizes = np.bincount(inverse, minlength=len(families))
    owners = np.bincount(inverse, weights=has_owner, minlength=len(families))
    stands_out = (owners >= _USUALLY_OWNED * sizes)[inverse] & ~has_owner
    containers = np.isin(stored, parents[stored])
    for id in stored[stands_out & containers].tolist():
        entity = tree.entity(id)
        type = context.model.types.get(entity.type)
        inside = tree.subtree(id) & tree.stored
        if type is not None and type.owned and inside.isdisjoint(owned):
            yield Violation(
                Place(*entity),
                f"has no owner, and neither do the {len(inside) - 1:,} entities inside it; its"
                " siblings have owners",
                "assign an owner, or drop it if unused",
            )


@rule(
    title="Containers without owners, where policies grant read access to owners",
    severity=Severity.NOTE,
    why="Teams can see their tables, but not the schemas that contain them.",
    mend="Assign owners to schemas in the UI, or extend the ingestion.",
    source="DataHub documentation, Policies Guide: schema ownership",
    applies=shows,
)
def unowned_schema(context: LintContext) -> Iterator[Violation]:
    seeing = context.meaning.view_privileges
    by_owner = [
        s for s in context.in_force if s.owners is not None and context.privileges(s) & seeing
    ]
    if not by_owner or CONTAINER not in context.model.fields:
        return
    owned = union(context.snapshot.owned_by.values())
    for type in sorted(context.model.fields[CONTAINER].up):
        stored = context.snapshot.of_type(type)
        bare = stored - owned
        if bare and owned:
            names = (context.tree.names[id] for id in bare[:10])
            yield Violation(
                Place("type", type),
                f"{len(bare):,} of {len(stored):,} without an owner ({some(names)}), and"
                f" `{by_owner[0].id}` grants read access to their owners",
                "assign owners to containers as well; the transformer for datasets omits them",
            )
