"""`lakewarden user`."""

from __future__ import annotations

import json

from tests.cli.stores import Admin


def test_users_and_groups_come_and_go(admin: Admin) -> None:
    for words in (("ana",), ("ana",), ("staff", "--group")):
        assert admin("user", "add", *words).code == 0
    found = admin("user", "list")
    assert found.lines == ["kind   name", "group  staff", "user   ana", "user   root"]
    assert admin("user", "remove", "staff", "--group").code == 0
    assert admin("user", "remove", "ana").code == 0
    assert admin("user", "remove", "ana").code == 0
    listed = json.loads(admin("user", "list", "--format", "json").out)
    assert listed == [{"kind": "user", "name": "root"}]


def test_a_name_that_no_user_may_have_is_refused(admin: Admin) -> None:
    before = admin.revision()
    for name in ("", "a;b", "a\nb", "a/b"):
        found = admin.ask("user", "add", name)
        assert (found.code, found.out) == (2, ""), name
    assert admin.revision() == before


def test_an_empty_directory_has_nobody(admin: Admin) -> None:
    assert admin("user", "list", "--directory", "other").code == 1
