"""The syntax of questions, and errors: exit code 2 and one line that names the word."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.realms import DATASET, Cli

TABLE = "table:lk:c.s.t"


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (
            ("ana", "table.lode", TABLE, "@gravitino"),
            "unknown operation or privilege `table.lode`; did you mean `table.load`?",
        ),
        (
            ("ana", "SELECT_TABLES", TABLE, "@gravitino"),
            "unknown operation or privilege `SELECT_TABLES`; did you mean `SELECT_TABLE`?",
        ),
        (("ana", "xyzzy", TABLE, "@gravitino"), "unknown operation or privilege `xyzzy`; `"),
        (("", "table.load", TABLE, "@gravitino"), "principal: expected a user, a group or a role"),
        (("ana", "table.load", "", "@gravitino"), "expected `type:name`, got ``"),
        (("ana", "", TABLE, "@gravitino"), "unknown operation or privilege ``"),
        (("ana", "table.load", "shelf:lk:c.s.t", "@gravitino"), "unknown type `shelf`; expected"),
        (("ana", "table.load", "lk", "@gravitino"), "expected `type:name`, got `lk`"),
        (("ana", "table.load", "table:lk:c.s", "@gravitino"), "expected 3 parts"),
        (("ana", "dataset.read", "dataset:sales.*", "@cdap"), "only grants take wildcards"),
        (("ana", "entity.read", "urn:li:tag:", "@datahub"), "the key of `urn:li:tag:` is empty"),
        (("group:", "table.load", TABLE, "@gravitino"), "expected `user:NAME`"),
        (("urn:li:tag:a", "entity.read", DATASET, "@datahub"), "expected the URN of a user"),
        (
            ("ana", "table.load", TABLE, "@gravitino", "--target", "x=table:lk:c.s.t"),
            "--target: `table.load` has no `x`; expected one of: none",
        ),
        (
            ("ana", "object.tags.associate", TABLE, "@gravitino", "--item", "tag=tag:lk:pii"),
            "--item: `object.tags.associate` has no `tag`; expected one of: tags",
        ),
        (
            ("ana", "object.tags.associate", TABLE, "@gravitino", "--item", "tag:lk:pii"),
            "--item: expected NAME=VALUE, got `tag:lk:pii`",
        ),
        (
            ("ana", "table.load", TABLE, "@gravitino", "--attribute", "x=1"),
            "--attribute: unknown `x`; expected one of: none",
        ),
        (("ana", "table.load", TABLE, "@gravitino", "--sub", "tag"), "expected `type:name`"),
        (
            ("ana", "table.load", TABLE, "@gravitino", "--role", "urn:li:x"),
            "--role: expected a role, got `urn:li:x`",
        ),
        (
            ("ana", "entity.read", DATASET, "@datahub", "--group", "urn:li:corpuser:ben"),
            "--group: expected a group, got `urn:li:corpuser:ben`",
        ),
    ],
)
def test_what_is_not_known_is_named(cli: Cli, words: tuple[str, ...], message: str) -> None:
    found = cli("check", *words)
    assert (found.code, found.out) == (2, "")
    assert message in found.err
    assert found.err.startswith("lakewarden: ")
    assert found.err.count("\n") == 1


def test_a_message_is_one_line_whatever_the_word(cli: Cli) -> None:
    for word in ("a\nb", "a\x1b[2Jb", "a\u2028b"):
        found = cli("check", "ana", word, TABLE, "@gravitino")
        assert found.code == 2
        assert len(found.err.splitlines()) == 1
        assert found.err.rstrip("\n").isprintable()


def test_a_directory_that_is_none_is_refused(cli: Cli, tmp_path: Path) -> None:
    for folder in (tmp_path, tmp_path / "missing"):
        found = cli("check", "ana", "table.load", TABLE, "--from", str(folder))
        assert found.code == 2
        assert found.err == (
            f"lakewarden: {folder}: no ingested directory: `manifest.json` is missing\n"
        )


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{", "expected JSON"),
        ("[]", "expected a table"),
        ('{"format": 99}', "expected the number"),
    ],
)
def test_a_damaged_manifest_is_refused(cli: Cli, tmp_path: Path, text: str, message: str) -> None:
    (tmp_path / "manifest.json").write_text(text, "utf-8")
    found = cli("check", "ana", "table.load", TABLE, "--from", str(tmp_path))
    assert found.code == 2
    assert "manifest.json" in found.err
    assert message in found.err


@pytest.mark.parametrize("verb", ["check", "explain", "list", "who", "privileges"])
def test_every_verb_refuses_a_bad_directory(cli: Cli, tmp_path: Path, verb: str) -> None:
    words = {
        "check": ("ana", "table.load", TABLE),
        "explain": ("ana", "table.load", TABLE),
        "list": ("ana", "table.load"),
        "who": ("table.load", TABLE),
        "privileges": ("ana", TABLE),
    }
    found = cli(verb, *words[verb], "--from", str(tmp_path))
    assert (found.code, found.out) == (2, "")
    assert "no ingested directory" in found.err


@pytest.mark.parametrize("verb", ["check", "explain", "list", "who"])
def test_every_verb_refuses_an_operation_that_is_not_known(cli: Cli, verb: str) -> None:
    asker = () if verb == "who" else ("ana",)
    found = cli(verb, *asker, "table.lode", "@gravitino")
    assert (found.code, found.out) == (2, "")
    assert "unknown operation or privilege `table.lode`" in found.err


def test_statements_that_people_wrote_count_too(cli: Cli, tmp_path: Path) -> None:
    from tests.cli.realms import write_gravitino

    realm = write_gravitino(tmp_path / "realm")
    question = ("check", "ana", "table.alter", TABLE, "--from", str(realm))
    assert cli(*question).code == 1
    (realm / "statements").mkdir()
    file = realm / "statements" / "more.toml"
    head = "[[statement]]\nid = 'x'\nto = 'user:ana'\n"
    file.write_text(f"{head}privileges = 'MODIFY_TABLE'\non = 'table:lk:c.s.t'\n")
    assert cli(*question).code == 0
    file.write_text(f"{head}privileges = 'FLY'\n")
    found = cli(*question)
    assert found.code == 2
    assert "more.toml: statement[0].privileges: unknown privilege `FLY`" in found.err
