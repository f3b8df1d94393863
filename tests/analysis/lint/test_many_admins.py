"""`many-admins`: an administrative role with many holders."""

from __future__ import annotations

from tests.analysis.lint.worlds import Seen, changed, fixes, found


def test_eleven_admins_are_many() -> None:
    assert found("many-admins", "violating") == [
        Seen(
            "role:urn:li:dataHubRole:Admin",
            (
                "grants administrative privileges to 11 users: `urn:li:corpuser:user-01`, "
                "`urn:li:corpuser:user-02`, `urn:li:corpuser:user-03` and 8 more"
            ),
            "note",
        ),
    ]
    assert fixes("many-admins") == [
        "grant it to platform operators only",
    ]


def test_ten_are_not() -> None:
    assert found("many-admins", "clean") == []


def test_readers_administer_nothing() -> None:
    world = changed("many-admins")
    world["members"] = {"role:urn:li:dataHubRole:Reader": world["members"].popitem()[1]}
    assert found("many-admins", world) == []
