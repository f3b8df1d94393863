"""`lakewarden secrets rotate`."""

from __future__ import annotations

import json

import pytest

from lakewarden.kernel.entity import Entity
from lakewarden.service.effect import SecretChanged
from lakewarden.store import open_store
from lakewarden.store.secrets import Keys, new_key
from tests.cli.stores import Admin

OLD, NEW = new_key(), new_key()
KEY = Entity("securekey", "default.k")


def keep(admin: Admin, key: str) -> None:
    with open_store(admin.url) as store, store.writing() as writing:
        writing.apply("cdap", [SecretChanged(KEY, "data", Keys([key]).seal("v"))])
        writing.commit(())


def sealed(admin: Admin) -> str:
    with open_store(admin.url) as store, store.reading() as reading:
        return reading.secrets("cdap", KEY)["data"]


def test_all_secrets_are_sealed_with_the_first_key(
    admin: Admin, monkeypatch: pytest.MonkeyPatch
) -> None:
    keep(admin, OLD)
    monkeypatch.setenv("LAKEWARDEN_SECRET_KEYS", f"{NEW},{OLD}")
    made = admin("secrets", "rotate", "--format", "json")
    assert json.loads(made.out) == {"secrets": 1, "revision": admin.revision()}
    assert Keys([NEW]).unseal(sealed(admin)) == "v"
    assert "secrets.rotate" in admin("audit", "tail").lines[-1]


def test_a_secret_that_no_key_opens_refuses_all(
    admin: Admin, monkeypatch: pytest.MonkeyPatch
) -> None:
    keep(admin, OLD)
    before = admin.revision()
    monkeypatch.setenv("LAKEWARDEN_SECRET_KEYS", NEW)
    refused = admin.ask("secrets", "rotate")
    assert (refused.code, refused.out) == (3, "")
    assert "none of the configured keys matches" in refused.err
    assert admin.revision() == before
    assert Keys([OLD]).unseal(sealed(admin)) == "v"


def test_a_malformed_key_is_refused_and_not_repeated(
    admin: Admin, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LAKEWARDEN_SECRET_KEYS", "sesame")
    refused = admin.ask("secrets", "rotate")
    assert (refused.code, refused.out) == (2, "")
    assert "expected 32 bytes" in refused.err
    assert "sesame" not in refused.err
