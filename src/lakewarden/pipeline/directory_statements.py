"""The statements of an ingested directory: defaults, ingested ones, and those people wrote."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator
from typing import Final, NamedTuple

from lakewarden.kernel.errors import BadInput
from lakewarden.kernel.statement import Statement
from lakewarden.kernel.statement_file import check_realm, read_statements
from lakewarden.pipeline.directory_manifest import Content, Manifest
from lakewarden.pipeline.storage.files import entries
from lakewarden.pipeline.storage.location import Location
from lakewarden.pipeline.toml_file import read_toml
from lakewarden.pipeline.version_folder import folder_of
from lakewarden.service.defaults import default_statements
from lakewarden.service.system import System

STATEMENTS: Final = "statements"
DELETED: Final = "deleted.toml"
STATEMENT_LINES: Final = "statements.jsonl"


class Statements(NamedTuple):
    """All statements of a directory; `unstated` are the defaults that it does not state itself."""

    all: tuple[Statement, ...]
    unstated: frozenset[str]


def statements_of(path: Location, manifest: Manifest, system: System) -> Statements:
    """The statements of a directory, merged.

    If two statements have one id, the later in this order wins: defaults, ingested, written by
    people. But a default that is not editable is never replaced. Raises `BadInput`, naming the
    file, for malformed content and for content that differs from the manifest.
    """
    version = folder_of(path, manifest)
    folder = path / STATEMENTS
    deleted = frozenset(manifest.deleted) | _deleted(folder / DELETED)
    try:
        defaults = default_statements(system, deleted)
    except BadInput as error:
        raise BadInput(error.message, where=str(folder / DELETED)) from None
    fixed = system.model.immutable_ids
    ingested = [s for s in _ingested(version, manifest, system) if s.id not in fixed]
    written = list(_written(folder, manifest.realm, system, fixed))
    unstated = {s.id for s in defaults}.difference(s.id for s in (*ingested, *written))
    merged = {s.id: s for s in (*defaults, *ingested, *written)}
    return Statements(tuple(merged.values()), frozenset(unstated))


def lines_content(text: str) -> Content:
    """Rows and digest of the text of a JSON Lines file."""
    return Content(text.count("\n"), hashlib.sha256(text.encode("utf-8")).hexdigest())


def _ingested(version: Location, manifest: Manifest, system: System) -> tuple[Statement, ...]:
    file = version / STATEMENT_LINES
    try:
        text = file.read_text("utf-8")
    except (OSError, UnicodeDecodeError):
        raise BadInput("cannot be read", where=str(file)) from None
    if lines_content(text) != manifest.statements:
        raise BadInput("differs from its manifest", where=str(file))
    # Not `splitlines`: a text may hold characters that Unicode defines as line ends.
    tables = [json.loads(line) for line in text.split("\n")[:-1]]
    return read_statements(tables, system.model, system.spelling, str(file))


def _written(
    folder: Location, realm: str, system: System, fixed: Iterable[str]
) -> Iterator[Statement]:
    """The statements that people wrote, by file in name order; each id once."""
    places: dict[str, Location] = {}
    fixed_ids = set(fixed)
    for file in entries(folder):
        if file.name == DELETED or file.name.startswith("."):
            continue
        if file.suffix != ".toml":
            # Its statements would be ignored, which is worst for a DENY.
            raise BadInput("expected only TOML files here", where=str(file))
        section = read_toml(file)
        check_realm(section, realm)
        section_value = section.take("statement")
        section.close()
        tables = [] if section_value is None else section_value
        if not isinstance(tables, list):
            raise BadInput("expected a list of tables", where=section.at("statement"))
        for statement in read_statements(tables, system.model, system.spelling, str(file)):
            if statement.id in fixed_ids:
                raise BadInput(
                    f"`{statement.id}` is a default that is not editable", where=str(file)
                )
            if statement.id in places:
                other = places[statement.id].name
                raise BadInput(f"id `{statement.id}` is used in `{other}` too", where=str(file))
            places[statement.id] = file
            yield statement


def _deleted(file: Location) -> frozenset[str]:
    if not file.exists():
        return frozenset()
    section = read_toml(file)
    deleted = frozenset(section.texts("deleted"))
    section.close()
    return deleted
