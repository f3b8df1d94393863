"""Without the libraries of an extra, each verb works, or names the extra that it needs."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tomllib
from collections.abc import Sequence
from pathlib import Path

import pytest

from lakewarden.cli import EXTRAS, GROUPS, VERB_EXTRAS, VERBS

PROJECT = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text("utf-8"))
OPTIONAL = PROJECT["project"]["optional-dependencies"]
ALL_VERBS = [
    *((verb,) for verb in VERBS),
    *((group, *verb.split()) for group, (_, verbs) in GROUPS.items() for verb in verbs),
]

WITHOUT = """
import contextlib, io, json, sys
from importlib.machinery import PathFinder
blocked, verbs, calls = json.loads(sys.argv[1])
find = PathFinder.find_spec
PathFinder.find_spec = lambda name, *rest: None if name in blocked else find(name, *rest)
from lakewarden.cli import application, main
app = application(whole=True)
for verb in verbs:
    at = app
    for word in verb:
        at = at[word]
    print(json.dumps([verb, 0, at.help, ""]))
for words in calls:
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        code = main(words)
    print(json.dumps([words, code, out.getvalue(), err.getvalue()]))
"""
MISSING = r"`\w+` is not installed; run: pip install 'lakewarden\[(\w+)\]'"

STORE = ("--database", "sqlite:///estate.db")

NEEDS_MORE = {"demo", "gateway", "iceberg-guard", "import", "load", "pipeline", "serve"}
"""Verbs, and a group, that may need an extra for everything."""


def extras_in(extra: str) -> set[str]:
    """The extra, and those that it includes."""
    found = {extra}
    for line in OPTIONAL[extra]:
        if line.startswith("lakewarden["):
            for part in line.partition("[")[2].partition("]")[0].split(","):
                found |= extras_in(part)
    return found


def ran(
    extra: str, verbs: Sequence[Sequence[str]], calls: Sequence[Sequence[str]] = ()
) -> dict[tuple[str, ...], tuple[int, str, str]]:
    """Verbs and calls with one installed extra (none for an empty name).

    The output of a verb is its help; that of a call its code, output and errors.
    """
    has = extras_in(extra) if extra else set()
    if "server-slim" in has:
        has.add("server")  # messages name the extra with all that the verb may need
    blocked = [name for name, of in EXTRAS.items() if of not in has]
    command = [sys.executable, "-c", WITHOUT, json.dumps([blocked, verbs, calls])]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=120)
    lines = map(json.loads, done.stdout.splitlines())
    return {tuple(words): (code, out, err) for words, code, out, err in lines}


@pytest.mark.parametrize("extra", ["", "server"])
def test_every_verb_is_there_or_names_an_extra_that_is_not_installed(extra: str) -> None:
    has = extras_in(extra) if extra else set()
    works = set()
    for verb, (_, text, _) in ran(extra, ALL_VERBS).items():
        if not text.startswith("Not available"):
            assert "For example:" in text, verb
            works.add(verb[0])
            continue
        told = re.fullmatch(rf"Not available: {MISSING}\.", text)
        assert told, (verb, text)
        assert told[1] not in has, (verb, text)
    if extra == "server":
        assert works == {*VERBS, *GROUPS}
    assert works >= {*VERBS, *GROUPS} - NEEDS_MORE


def test_a_verb_that_is_called_names_the_extra_that_brings_all_it_needs() -> None:
    index = ["pipeline", "index", "directory", "--out", "index"]
    needed = {
        "server": [
            *(["demo"], ["serve"], ["iceberg-guard"], ["init", "--admin", "root"]),
            *(["backup", "estate.backup", *STORE], ["restore", "estate.backup", *STORE]),
            ["load", "directory", "--realm", "lake", *STORE],
        ],
        "gateway": [["gateway", "--realm", "r", "--backend", "sc://127.0.0.1:1"]],
        "spark": [index],
        "analyst": [["pipeline", "access", "export", "--out", "access"]],
        "parquet": [["check", "ana", "table.load", "table:lk:c.s.t", "--from", "directory"]],
    }
    calls = [words for all_words in needed.values() for words in all_words]
    lists: list[list[str]] = [[], ["push", "target", "--help"]]
    answers = ran("", [], [*calls, *lists])
    for extra, all_words in needed.items():
        for words in all_words:
            code, out, err = answers[tuple(words)]
            told = re.fullmatch(rf"lakewarden: {MISSING}\n", err)
            assert (code, out) == (3, "")
            assert told, err
            assert told[1] == extra
    for words in lists:
        code, out, err = answers[tuple(words)]
        assert (code, err) == (0, "")
        assert "Commands" in out


def test_a_source_that_lacks_a_library_names_the_extra() -> None:
    words = ["pipeline", "ingest", "sqlite:///x.db", "--source", "sql", "--out", "lake"]
    words += ["--metalake", "lake", "--catalog", "sales"]
    ((code, out, err),) = ran("spark", [], [words]).values()
    assert (code, out) == (3, "")
    assert re.fullmatch(rf"lakewarden: {MISSING}\n", err), err
    assert "lakewarden[sql]" in err


@pytest.mark.parametrize(("extra", "needed"), [("", "parquet,server,sql"), ("server", "")])
def test_systems_are_there_though_parts_of_them_need_an_extra(extra: str, needed: str) -> None:
    words = ["--version", "--systems"]
    ((code, out, err),) = ran(extra, [], [words]).values()
    assert code == 0
    assert [name for name in ("cdap", "datahub", "gravitino") if f"\n{name} " in out]
    said = f"note: parts of gravitino need: pip install 'lakewarden[{needed}]'\n"
    assert said in err if needed else err == ""


def test_what_a_verb_is_said_to_need_brings_all_its_parts() -> None:
    for extra, parts in VERB_EXTRAS.values():
        assert parts <= extras_in(extra)


def test_all_is_what_every_extra_for_users_brings() -> None:
    others = set(OPTIONAL) - {"all", "bench", "dev"}
    assert extras_in("all") >= others
