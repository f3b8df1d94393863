"""`unowned-container`: a container without owner, where those beside it have one."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from lakewarden.analysis.lint.finding import Found, Rule, Severity
from lakewarden.analysis.lint.lint_context import LintContext, union
from lakewarden.analysis.lint.place import Place
from lakewarden.kernel.model import Model

_MOST = 0.75
"""Such a share of a container's siblings has owners before the ones without stand out."""


def owns(model: Model) -> bool:
    """The rule speaks about systems that have owners."""
    return any(type.owned for type in model.types.values())


def _find(context: LintContext) -> Iterator[Found]:
    tree = context.tree
    owned = union(context.snapshot.owned_by.values())
    parents = tree.above
    stored = np.asarray(tree.stored.to_array()).astype(np.int64)
    stored = stored[parents[stored] >= 0]
    # Siblings are what has the same parent and the same type.
    keys = parents[stored].astype(np.int64) * len(tree.kinds) + tree.types[stored]
    families, inverse = np.unique(keys, return_inverse=True)
    has_owner = np.isin(stored, np.asarray((owned & tree.stored).to_array()))
    sizes = np.bincount(inverse, minlength=len(families))
    owners = np.bincount(inverse, weights=has_owner, minlength=len(families))
    stands_out = (owners >= _MOST * sizes)[inverse] & ~has_owner
    containers = np.isin(stored, parents[stored])
    for id in stored[stands_out & containers].tolist():
        entity = tree.entity(id)
        type = context.model.types.get(entity.type)
        inside = tree.subtree(id) & tree.stored
        if type is not None and type.owned and inside.isdisjoint(owned):
            yield Found(
                Place(*entity),
                f"has no owner, nor has any of the {len(inside) - 1:,} inside it; those beside it"
                " have",
                "give it an owner, or drop it when nobody wants it",
            )


RULE = Rule(
    id="unowned-container",
    title="A container without owner, where those beside it have one",
    severity=Severity.WARNING,
    why=(
        "Nobody looks after it: copies that were to be gone tomorrow stay there for years, and"
        " nobody is asked before somebody is let in."
    ),
    mend="Give it an owner, or drop it.",
    source="Gravitino 1.1.0, access control page: ownership; DataHub Policies Guide: ownership",
    find=_find,
    applies=owns,
    misses="Single tables; containers of a kind that is owned nowhere beside them.",
)
