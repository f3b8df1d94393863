"""`role-overrides-views`: a role that shows everything, although views are restricted."""

from __future__ import annotations

from tests.analysis.lint.worlds import Seen, changed, fixes, found


def test_a_reader_sees_everything_whatever_the_policies_say() -> None:
    assert found("role-overrides-views", "violating") == [
        Seen(
            "role:urn:li:dataHubRole:Reader",
            (
                "makes everything visible, regardless of policies by domain or owner, to "
                "`urn:li:corpGroup:audit`"
            ),
        ),
    ]
    assert fixes("role-overrides-views") == [
        (
            "revoke the role where visibility is restricted, and use a policy to grant its"
            " other privileges"
        ),
    ]


def test_admin_is_for_platform_operators() -> None:
    assert found("role-overrides-views", "clean") == []


def test_where_nothing_is_restricted_readers_are_fine() -> None:
    assert found("role-overrides-views", changed("role-overrides-views", statement=[])) == []


def test_an_editor_sees_everything_too() -> None:
    world = changed("role-overrides-views")
    world["members"]["role:urn:li:dataHubRole:Editor"] = ["user:urn:li:corpuser:ana"]
    places = {one.place for one in found("role-overrides-views", world)}
    assert places == {f"role:urn:li:dataHubRole:{name}" for name in ("Reader", "Editor")}
