"""`homeless-entity`: an asset without owner, domain and container."""

from __future__ import annotations

from collections.abc import Iterator

from pyroaring import BitMap

from lakewarden.analysis.lint.estate import Estate, some, union
from lakewarden.analysis.lint.finding import Found, Rule, Severity
from lakewarden.analysis.lint.place import Place
from lakewarden.kernel.model import Model


def chooses(model: Model) -> bool:
    """The rule speaks about systems whose policies choose by criteria."""
    return bool(model.fields)


def _find(estate: Estate) -> Iterator[Found]:
    tree = estate.tree
    placed = BitMap.union(BitMap(), *estate.snapshot.owned_by.values())
    kinds = {origin for field in estate.model.fields.values() for origin in field.origin}
    for kind in sorted(kinds & estate.coded.relations.keys()):
        placed |= union(estate.coded.relations[kind].inverted().values())
    for type in sorted(estate.meaning.assets):
        stored = estate.snapshot.of_type(type)
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
