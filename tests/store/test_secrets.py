"""Secrets: sealed with the first key, unsealed with any, never revealed."""

from __future__ import annotations

import pytest

from lakewarden.kernel.errors import BadInput, Unavailable
from lakewarden.service.effect import SecretChanged
from lakewarden.store import SqlStore
from lakewarden.store.secrets import Keys, new_key, rewrap
from tests.store.lake import CATALOG, REALM, TABLE, with_realm, write

OLD, NEW = new_key(), new_key()
TEXTS = ["", "open sesame", "ü𝔘\0\n", "x" * 10_000, "\ud800"]


def test_a_sealed_text_comes_back_and_does_not_show() -> None:
    keys = Keys([OLD])
    for text in TEXTS:
        sealed = keys.seal(text)
        assert keys.unseal(sealed) == text
        assert sealed.isascii()
        assert text not in sealed or not text
        assert sealed != keys.seal(text)


def test_a_new_key_reads_what_the_old_one_sealed_as_long_as_it_is_there() -> None:
    sealed = Keys([OLD]).seal("x")
    both = Keys([NEW, OLD])
    assert both.unseal(sealed) == "x"
    assert Keys([NEW]).unseal(both.seal("y")) == "y"
    assert Keys([NEW]).unseal(both.rewrapped(sealed)) == "x"
    for attempt in (Keys([NEW]).unseal, Keys([NEW]).rewrapped):
        with pytest.raises(Unavailable, match="none of the configured keys"):
            attempt(sealed)
        with pytest.raises(Unavailable):
            attempt("no secret at all ü")


def test_a_malformed_key_is_refused_and_not_repeated() -> None:
    for key in ("hunter2hunter2", OLD[:-4], "", "ü" * 44):
        with pytest.raises(BadInput, match="malformed") as refused:
            Keys([NEW, key])
        assert not key or key not in str(refused.value)
    with pytest.raises(BadInput, match="at least one key"):
        Keys([])
    assert OLD not in repr(Keys([OLD]))


def test_secrets_are_kept_by_entity_and_key(store: SqlStore) -> None:
    with_realm(store)
    write(
        store,
        SecretChanged(CATALOG, "password", "one"),
        SecretChanged(CATALOG, "token", "two"),
        SecretChanged(TABLE, "password", "three"),
        SecretChanged(CATALOG, "password", "four"),
        SecretChanged(TABLE, "password", None),
    )
    with store.reading() as reading:
        assert reading.secrets(REALM, CATALOG) == {"password": "four", "token": "two"}
        assert reading.secrets(REALM, TABLE) == {}
        assert reading.secrets("other", CATALOG) == {}


def test_all_stored_secrets_are_sealed_anew(store: SqlStore) -> None:
    old, both, new = Keys([OLD]), Keys([NEW, OLD]), Keys([NEW])
    write(store, *(SecretChanged(CATALOG, f"k{i}", old.seal(f"v{i}")) for i in range(5)))
    write(store, SecretChanged(TABLE, "k", old.seal("w")), scope="other")
    with store.writing() as writing:
        assert rewrap(writing, both) == 6
        writing.commit(())
    with store.reading() as reading:
        found = {name: new.unseal(s) for name, s in reading.secrets(REALM, CATALOG).items()}
        assert found == {f"k{i}": f"v{i}" for i in range(5)}
        assert new.unseal(reading.secrets("other", TABLE)["k"]) == "w"


def test_sealing_anew_is_all_or_nothing(store: SqlStore) -> None:
    write(store, SecretChanged(CATALOG, "a", Keys([OLD]).seal("v")))
    write(store, SecretChanged(CATALOG, "b", Keys([new_key()]).seal("v")))
    with store.reading() as reading:
        before = reading.secrets(REALM, CATALOG)
    with pytest.raises(Unavailable), store.writing() as writing:
        rewrap(writing, Keys([NEW, OLD]))
    with store.reading() as reading:
        assert reading.secrets(REALM, CATALOG) == before
