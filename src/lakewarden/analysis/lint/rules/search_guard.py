"""`search-guard`: restricted views in a DataHub that does not filter its search."""

from __future__ import annotations

from collections.abc import Iterator

from lakewarden.analysis.lint.finding import Found, Rule, Severity
from lakewarden.analysis.lint.lint_context import LintContext
from lakewarden.analysis.lint.place import Place
from lakewarden.analysis.lint.rules.domain_boundary import shows
from lakewarden.analysis.lint.rules.view_by_type import is_restricted

_OSS = "oss"


def _find(context: LintContext) -> Iterator[Found]:
    if not is_restricted(context):
        return
    settings = context.model.settings
    if settings.get("view_authorization") == "off":
        yield Found(
            Place("realm", context.model.name),
            "policies restrict what is seen, and view authorization is off: everybody is shown"
            " every page",
            "switch it on (`datahub.view`, `VIEW_AUTHORIZATION_ENABLED`, or the realm's setting"
            " `view_authorization`)",
        )
    elif settings.get("views") == _OSS:
        yield Found(
            Place("realm", context.model.name),
            "policies restrict what is seen; the open source DataHub masks hits only after the"
            " search, so names, counts and facets may still tell",
            "search through lakewarden, or use Search Access Controls of DataHub Cloud",
        )


RULE = Rule(
    id="search-guard",
    title="Restricted views, with a search that does not filter",
    severity=Severity.NOTE,
    why="VIEW_AUTHORIZATION_ENABLED alone does not keep other teams' data out of a search.",
    mend="Let lakewarden answer the search: it filters before it counts and pages.",
    source="DataHub documentation, Policies Guide: anti-patterns, OSS view authorization",
    find=_find,
    applies=shows,
)
