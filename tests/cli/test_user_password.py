"""`lakewarden user password`."""

from __future__ import annotations

from pathlib import Path

from lakewarden.authn.password import Passwords
from lakewarden.kernel.entity import Entity
from lakewarden.service.credential import PASSWORD
from lakewarden.store import open_store
from tests.cli.stores import Admin

SECRET = "correct horse 7"


def kept(admin: Admin, name: str = "datahub") -> str | None:
    with open_store(admin.url) as store, store.reading() as reading:
        user = Entity("corpuser", f"urn:li:corpuser:{name}")
        found = reading.credential("datahub", user, PASSWORD)
    return None if found is None else found.value


def test_the_operator_gives_root_a_password_and_takes_it_away(admin: Admin, tmp_path: Path) -> None:
    file = tmp_path / "secret"
    file.write_text(f"{SECRET}\n")
    assert kept(admin) is None
    done = admin("user", "password", "datahub", "--file", str(file))
    assert (done.code, done.out) == (0, "")
    assert Passwords().verify(kept(admin), SECRET)
    assert admin("user", "password", "datahub", "--remove").code == 0
    assert kept(admin) is None
    assert admin("user", "password", "datahub", "--remove").code == 1


def test_a_person_of_a_directory_gets_one_and_loses_it(admin: Admin, tmp_path: Path) -> None:
    file = tmp_path / "secret"
    file.write_text(SECRET)
    words = ("user", "password", "ana", "--directory", "main")
    assert admin.ask(*words, "--file", str(file)).code == 2  # no user has that name
    admin("user", "add", "ana")
    assert admin(*words, "--file", str(file)).code == 0
    with open_store(admin.url) as store, store.reading() as reading:
        found = reading.credential("@main", Entity("user", "ana"), PASSWORD)
    assert found is not None
    assert Passwords().verify(found.value, SECRET)
    assert kept(admin, "ana") is None  # not DataHub's
    file.write_text("ana")
    assert admin.ask(*words, "--file", str(file)).code == 2
    assert admin(*words, "--remove").code == 0
    assert admin(*words, "--remove").code == 1


def test_whoever_is_not_there_gets_none(admin: Admin, tmp_path: Path) -> None:
    file = tmp_path / "secret"
    file.write_text(SECRET)
    for name in ("nobody", "__datahub_system"):
        assert admin.ask("user", "password", name, "--file", str(file)).code == 2
    admin("user", "add", "ana")
    assert admin("user", "password", "ana", "--file", str(file)).code == 0
    assert kept(admin, "ana")


def test_a_password_that_is_easily_guessed_is_refused(admin: Admin, tmp_path: Path) -> None:
    file = tmp_path / "secret"
    file.write_text("datahub")
    refused = admin.ask("user", "password", "datahub", "--file", str(file))
    assert refused.code == 2
    assert "8 to 256 characters" in refused.err
    assert admin.ask("user", "password", "datahub", "--file", "/nowhere").code == 2
    assert kept(admin) is None


def test_there_are_passwords_in_realms_of_datahub_only(admin: Admin, tmp_path: Path) -> None:
    file = tmp_path / "secret"
    file.write_text(SECRET)
    for realm in ("gravitino", "nothing"):
        words = ("user", "password", "root", "--realm", realm, "--file", str(file))
        assert admin.ask(*words).code == 2
