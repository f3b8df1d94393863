"""`wrong-type`: a privilege in a policy of the wrong kind, or about the wrong type."""

from __future__ import annotations

from collections.abc import Iterator

from lakewarden.analysis.lint.finding import Found, Rule, Severity
from lakewarden.analysis.lint.lint_context import LintContext, at, some, values_of
from lakewarden.analysis.lint.rules.homeless_entity import chooses
from lakewarden.kernel.model import ANY

_TYPE = "TYPE"


def _find(context: LintContext) -> Iterator[Found]:
    model = context.model
    for statement in context.policies:
        privileges = [model.privileges[name] for name in sorted(context.privileges(statement))]
        platform = [p.name for p in privileges if not p.on]
        types = frozenset(values_of(statement, _TYPE))
        if platform and not any(_manages(context, name, types) for name in platform):
            yield Found(
                at(statement),
                f"is about resources, and names {some(platform)}, asked without a resource",
                "move them into a policy of the type PLATFORM",
            )
        others = [p.name for p in privileges if types and p.on and not p.on & {ANY, *types}]
        if others:
            yield Found(
                at(statement),
                f"is about {some(sorted(types))}, for which {some(others)} is not offered",
                "take it out, or add the types that it is for",
                Severity.WARNING if len(others) == len(privileges) else Severity.NOTE,
            )


def _manages(context: LintContext, privilege: str, types: frozenset[str]) -> bool:
    """Whether an operation on one of the types asks for the privilege there."""
    return any(context.meaning.opens(privilege, type) for type in types) or (
        privilege in context.meaning.granting
    )


RULE = Rule(
    id="wrong-type",
    title="A privilege in a policy of the wrong kind, or about a type that it is not for",
    severity=Severity.WARNING,
    why=(
        "Platform privileges are asked without a resource. A metadata policy with resources never"
        " answers such a question, so what it seems to allow stays closed."
    ),
    mend="One policy for the platform, another for the metadata.",
    source="DataHub documentation, Policies Guide: what is a policy; tables of privileges",
    find=_find,
    applies=chooses,
    misses=(
        "Metadata privileges in platform policies; those cover everything, see `no-resources`."
        " One of several privileges that is not for the type is a note."
    ),
)
