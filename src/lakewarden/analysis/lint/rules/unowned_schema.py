"""`unowned-schema`: containers without owners, where owners are who sees."""

from __future__ import annotations

from collections.abc import Iterator

from lakewarden.analysis.lint.finding import Found, Rule, Severity
from lakewarden.analysis.lint.lint_context import LintContext, some, union
from lakewarden.analysis.lint.place import Place
from lakewarden.analysis.lint.rules.deep_container import CONTAINER
from lakewarden.analysis.lint.rules.domain_boundary import shows


def _find(context: LintContext) -> Iterator[Found]:
    seeing = context.meaning.seeing
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
            yield Found(
                Place("type", type),
                f"{len(bare):,} of {len(stored):,} without owner ({some(names)}), and"
                f" `{by_owner[0].id}` shows things to their owners",
                "assign owners to containers, too: the transformer for datasets leaves them out",
            )


RULE = Rule(
    id="unowned-schema",
    title="Containers without owners, where policies show things to owners",
    severity=Severity.NOTE,
    why="Teams see their tables, and not the schemas that these are in.",
    mend="Assign owners to schemas in the UI, or extend the ingestion.",
    source="DataHub documentation, Policies Guide: schema ownership",
    find=_find,
    applies=shows,
)
