"""`search-guard`: restricted views in a DataHub that does not filter its search."""

from __future__ import annotations

from tests.analysis.lint.worlds import Seen, changed, fixes, found


def test_the_open_source_search_does_not_filter() -> None:
    assert found("search-guard", "violating") == [
        Seen(
            "realm:datahub",
            (
                "policies restrict visibility; open source DataHub masks hits only after "
                "the search, so names, counts and facets can disclose entities"
            ),
            "note",
        ),
    ]
    assert fixes("search-guard") == [
        ("search through lakewarden, or use Search Access Controls of DataHub Cloud"),
    ]


def test_the_cloud_search_filters() -> None:
    assert found("search-guard", "clean") == []


def test_policies_that_restrict_views_without_view_authorization_are_told() -> None:
    (seen,) = found("search-guard", changed("search-guard", settings={}))
    assert seen.says.startswith("policies restrict visibility, but view authorization is off")
    (fix,) = fixes("search-guard", changed("search-guard", settings={}))
    assert "`VIEW_AUTHORIZATION_ENABLED`" in fix
