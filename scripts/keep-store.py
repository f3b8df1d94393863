"""Keeps a small store as this release writes it, which every later release must open.

    python scripts/keep-store.py tests/compatibility/stores

The script uses only the command line, so it also keeps the store of an earlier release, with its
`src` in PYTHONPATH. The file is named after the schema; an existing file is left alone. The
release must answer as `answers.json` says; if that file is missing, it is written. Needs Spark.
Exits with 1 if the answers differ.
"""

from __future__ import annotations

import argparse
import json
import lzma
import sqlite3
import sys
from collections.abc import Iterator, Mapping
from contextlib import closing
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tests" / "compatibility"))

import make  # noqa: E402 — it lies beside the files

NOT_KNOWN = "unknown option"
"""The error of an early release about an option that it does not have."""


def fill(work: Path, database: str) -> None:
    """Writes realms with people, statements and documents, a token, a link and an audit trail."""
    make.fill(work, database)
    make.run("token", "create", "root", "--ttl", "366d", "--database", database)
    make.run(
        *("link", "add", "gravitino=table:lk:c.s.orders", f"datahub={make.ORDERS}"),
        *("--database", database),
    )


def questions() -> Iterator[tuple[str, ...]]:
    """Question verbs with their arguments, without the option that names the store."""
    in_lake, in_hub, in_cdap = (("--realm", name) for name in ("gravitino", "datahub", "cdap"))
    for user in ("ana", "ben", "eve"):
        yield ("list", user, "table.load", *in_lake)
        yield ("check", user, "table.alter", "table:lk:c.s.returns", *in_lake)
        yield ("check", user, "EDIT_ENTITY_DOCS", make.ORDERS, *in_hub)
        yield ("check", user, "VIEW_ENTITY_PAGE", make.ORDERS, *in_hub)
        yield ("check", user, "WRITE", "dataset:sales.t1", *in_cdap)
    yield ("check", "ben", "table.load", "table:lk:c.raw.events", *in_lake)
    yield ("who", "table.load", "table:lk:c.s.orders", *in_lake)
    yield ("who", "table.load", "table:lk:c.raw.events", *in_lake)
    yield ("list", "ana", "read", "--all-realms")
    yield ("user", "list")


def gist(verb: str, code: int, answer: Any) -> object:
    """The part of an answer that is the same in every release: yes or no, or names."""
    match verb:
        case "list":
            named = [(one["realm"], one["operation"], one["entities"]) for one in answer["realms"]]
            return [[*asked, [found["name"] for found in all]] for *asked, all in named if all]
        case "who":
            return [[one["realm"], one["users"]] for one in answer["realms"]]
        case "user":
            return [one["name"] for one in answer]
        case _:
            return code == 0


def answers(database: str) -> Mapping[str, object]:
    """The gist of the release's answers, by question; omits questions that it does not know."""
    found = {}
    for words in questions():
        try:
            (one,) = make.answered(iter([list(words)]), "--database", database)
        except SystemExit as refused:
            if NOT_KNOWN not in str(refused):
                raise
            continue
        found[" ".join(words)] = gist(words[0], one["code"], one["answer"])
    return found


def schema(database: Path) -> str:
    """The name of a store's schema."""
    with closing(sqlite3.connect(database)) as opened:
        found: str = opened.execute("SELECT version_num FROM alembic_version").fetchone()[0]
    return found


def pack(database: Path, file: Path) -> None:
    """Writes the store as one small file."""
    whole = database.with_name("whole.db")
    with closing(sqlite3.connect(database)) as source, closing(sqlite3.connect(whole)) as copy:
        source.backup(copy)
        copy.execute("VACUUM")
    file.write_bytes(lzma.compress(whole.read_bytes(), preset=9))


def check(found: Mapping[str, object], file: Path) -> list[str]:
    """The differences from the kept answers; writes the answers if none are kept."""
    if not file.exists():
        file.write_text(json.dumps(found, indent=1, ensure_ascii=False) + "\n", "utf-8")
    kept = json.loads(file.read_text("utf-8"))
    return [
        f"{asked}: {kept.get(asked)}, now {found[asked]}"
        for asked in found
        if kept.get(asked) != found[asked]
    ]


def main(out: Path) -> int:
    """Keeps the store; returns the exit code."""
    out.mkdir(parents=True, exist_ok=True)
    with TemporaryDirectory() as place:
        file = Path(place, "store.db")
        database = f"sqlite:///{file}"
        fill(Path(place), database)
        found = answers(database)
        faults = check(found, out / "answers.json")
        name = schema(file)
        print(f"schema {name}: {len(found)} questions", *faults, sep="\n")
        kept = out / f"{name}.db.xz"
        if not faults and not kept.exists():
            pack(file, kept)
            print(f"{kept}: {kept.stat().st_size:,} bytes")
    return bool(faults)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=Path, help="where the file is written")
    sys.exit(main(parser.parse_args().folder))
