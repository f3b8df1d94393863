"""`unusable-principal`: a namespace that runs as somebody whom nobody may use."""

from __future__ import annotations

from collections.abc import Iterator

from lakewarden.analysis.lint.finding import Found, Rule, Severity
from lakewarden.analysis.lint.lint_context import LintContext
from lakewarden.analysis.lint.place import Place
from lakewarden.kernel.model import Model

_KIND = "owner_principal"
_OPERATION = "principal.use"


def _impersonates(model: Model) -> bool:
    return _KIND in model.relations and _OPERATION in model.operations


def _find(context: LintContext) -> Iterator[Found]:
    for target, sources in sorted(context.coded.relations[_KIND].inverted().items()):
        entity = context.tree.entity(target)
        needed = {name for way in context.meaning.ways(_OPERATION, entity.type) for name in way}
        grants = (g for name in needed for g in context.table.allows(name).every)
        if not any(target in context.ids(grant) for grant in grants):
            for source in sources:
                yield Found(
                    Place(*context.tree.entity(source)),
                    f"runs its programs as `{entity.name}`, as whom only that user may deploy",
                    f"grant ADMIN on `{entity.type}:{entity.name}` to who deploys there",
                )


RULE = Rule(
    id="unusable-principal",
    title="A namespace whose programs run as somebody whom nobody else may use",
    severity=Severity.NOTE,
    why="Whoever deploys into the namespace needs ADMIN on the principal that it runs as.",
    mend="Grant it, or leave the namespace to that user.",
    source="CDAP authorization reference 5.1.2: impersonation, ADMIN on the owner principal",
    find=_find,
    applies=_impersonates,
)
