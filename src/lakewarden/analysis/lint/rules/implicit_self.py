"""`implicit-self`: everybody may change the entity that is himself."""

from __future__ import annotations

from collections.abc import Iterator

from lakewarden.analysis.lint.finding import Found, Rule, Severity
from lakewarden.analysis.lint.lint_context import LintContext, words
from lakewarden.analysis.lint.place import Place
from lakewarden.kernel.model import Model


def _has_self(model: Model) -> bool:
    return bool(model.self_privileges)


def _find(context: LintContext) -> Iterator[Found]:
    held = context.model.self_privileges & context.meaning.changing
    if held:
        yield Found(
            Place("realm", context.model.name),
            f"every user has {words(held)} on the own user, which no policy says or takes away",
            "know it when user entities carry something that policies look at",
        )


RULE = Rule(
    id="implicit-self",
    title="What every user may do to the entity that is that user",
    severity=Severity.NOTE,
    why=(
        "A built-in policy named View Self holds more than viewing. Reviews that read the stored"
        " policies do not show it."
    ),
    mend="Nothing; it cannot be changed.",
    source="DataHub, PoliciesConfig.getDefaultPolicies",
    find=_find,
    applies=_has_self,
)
