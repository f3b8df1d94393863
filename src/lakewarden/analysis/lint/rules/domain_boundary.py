"""`domain-boundary`: a domain as the boundary of who sees which assets."""

from __future__ import annotations

from collections.abc import Iterator

from lakewarden.analysis.lint.finding import Found, Rule, Severity
from lakewarden.analysis.lint.lint_context import LintContext, at, some, values_of
from lakewarden.analysis.lint.rules.overlapping_domains import DOMAIN
from lakewarden.kernel.model import Model


def shows(model: Model) -> bool:
    """The rule speaks about systems whose policies decide who is shown what."""
    return "entity.view" in model.operations and bool(model.fields)


def _find(context: LintContext) -> Iterator[Found]:
    for statement in context.policies:
        domains = values_of(statement, DOMAIN)
        types = values_of(statement, "TYPE")
        only_words = types and not context.meaning.assets & set(types)
        if domains and not only_words and context.privileges(statement) & context.meaning.seeing:
            yield Found(
                at(statement),
                f"shows assets by domain ({some(domains)})",
                "assign owners at ingestion and let owners see; keep domains for the domain pages",
            )


RULE = Rule(
    id="domain-boundary",
    title="A domain as the boundary of who sees which assets",
    severity=Severity.NOTE,
    why=(
        "DataHub walks the domains upwards for each hit of a search; lakewarden does not, so here"
        " it is only a matter of who looks after the boundary: an asset in no domain is lost."
    ),
    mend="Prefer ownership; use domains for domain entities and for discovery in the Cloud.",
    source="DataHub documentation, Policies Guide: domains and containers; pattern A",
    find=_find,
    applies=shows,
)
