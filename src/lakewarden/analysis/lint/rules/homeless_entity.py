"""`homeless-entity`: an asset without owner, domain and container."""

from __future__ import annotations

from collections.abc import Iterator

from pyroaring import BitMap

from lakewarden.analysis.lint.finding import Found, Rule, Severity
from lakewarden.analysis.lint.lint_context import LintContext, some, union
from lakewarden.analysis.lint.place import Place
from lakewarden.kernel.model import Model


def chooses(model: Model) -> bool:
    """The rule speaks about systems whose policies choose by criteria."""
    return bool(model.fields)


def _find(context: LintContext) -> Iterator[Found]:
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
            yield Found(
                Place("type", type),
                f"{len(bare):,} of {len(stored):,} without owner, domain and container:"
                f" {some(names, len(bare))}",
                "assign owners and domains when they are ingested, or delete what nobody wants",
            )


RULE = Rule(
    id="homeless-entity",
    title="Assets that no policy by owner, domain, container, tag or term covers",
    severity=Severity.WARNING,
    why=(
        "Policies that choose leave them out, and policies with NOT_EQUALS or with no criteria"
        " take them in: whoever excludes the domain of people's data includes its stray copy."
    ),
    mend="Assign ownership and domains at ingestion.",
    source="DataHub documentation, Policies Guide: ownership-based access",
    find=_find,
    applies=chooses,
    misses="Types of which most entities are like that.",
)
