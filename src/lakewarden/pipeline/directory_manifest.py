"""The manifest of an ingested directory: its content, and which version is current."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Final, NamedTuple

from lakewarden.kernel.errors import BadInput
from lakewarden.kernel.toml_section import Section
from lakewarden.models import own
from lakewarden.models.own import ModelText
from lakewarden.pipeline.storage.location import Location
from lakewarden.pipeline.tables import COLUMNS, QUARANTINE
from lakewarden.pipeline.version_folder import MANIFEST

FORMAT: Final = 2
"""The newest format that this release writes and reads.

Format 2 differs from 1 only in the digests of tables with more than `CHUNK_ROWS` rows. Without such
tables, format 1 is written: earlier releases read it.
"""

CHUNK_ROWS: Final = 1 << 20
"""How many rows of a table are digested together; see `lakewarden.pipeline.directory_table`."""

_HEX = frozenset("0123456789abcdef")


class Content(NamedTuple):
    """The number of rows, and their digest."""

    rows: int
    sha256: str


@dataclass(frozen=True, slots=True)
class Input:
    """An input that was read: its name, without any secret, and the digest of its content."""

    name: str
    sha256: str


@dataclass(frozen=True, slots=True)
class Manifest:
    """The content of a directory. Holds no time: the same input gives the same manifest.

    `source` is the kind of source, `options` the caller's options for it. `tables` covers the
    tables of `COLUMNS`. `deleted` are default statements that the source deleted. `model_text` is
    the text of a model that is not shipped. `in_chunks` is false for the digests of format 1.
    """

    model: str
    settings: Mapping[str, str]
    realm: str
    source: str
    version: int
    inputs: tuple[Input, ...]
    tables: Mapping[str, Content]
    statements: Content
    options: Mapping[str, str] = field(default_factory=dict)
    deleted: tuple[str, ...] = ()
    model_text: ModelText | None = None
    in_chunks: bool = True

    @property
    def format(self) -> int:
        """The lowest format that describes the content."""
        is_large = any(content.rows > CHUNK_ROWS for content in self.tables.values())
        return FORMAT if is_large and self.in_chunks else 1

    @property
    def quarantined(self) -> int:
        """The number of rows that were set aside."""
        return self.tables[QUARANTINE].rows

    def text(self) -> str:
        """The file's text."""
        table: dict[str, object] = {
            "format": self.format,
            "model": self.model,
            "settings": dict(sorted(self.settings.items())),
            "realm": self.realm,
            "source": self.source,
            "options": dict(sorted(self.options.items())),
            "version": self.version,
            "inputs": [{"name": i.name, "sha256": i.sha256} for i in self.inputs],
            "tables": {name: content._asdict() for name, content in self.tables.items()},
            "statements": self.statements._asdict(),
            "deleted": list(self.deleted),
            "quarantined": self.quarantined,
        }
        if self.model_text is not None:
            table["model_text"] = asdict(self.model_text)
        return json.dumps(table, indent=2, ensure_ascii=False) + "\n"


def read_manifest(path: Location) -> Manifest:
    """The manifest of a directory. Raises `BadInput` if there is none of this format."""
    file = path / MANIFEST
    if not file.is_file():
        raise BadInput(f"no ingested directory: `{MANIFEST}` is missing", where=str(path))
    try:
        data = json.loads(file.read_text("utf-8"))
    except (ValueError, RecursionError):
        raise BadInput("expected JSON", where=str(file)) from None
    section = Section(data, str(file))
    number = section.take("format")
    if isinstance(number, bool) or number not in (1, FORMAT):
        raise BadInput(f"expected the number 1 or {FORMAT}", where=section.at("format"))
    tables = section.named("tables")
    if set(tables) != set(COLUMNS):
        expected = ", ".join(COLUMNS)
        raise BadInput(f"expected the tables {expected}", where=section.at("tables"))
    contents = {name: _content(tables[name]) for name in COLUMNS}
    is_large = any(content.rows > CHUNK_ROWS for content in contents.values())
    manifest = Manifest(
        model=section.text("model"),
        settings=_texts(section, "settings"),
        realm=section.text("realm"),
        source=section.text("source"),
        version=count(section, "version"),
        inputs=tuple(Input(s.text("name"), _sha256(s)) for s in section.tables("inputs")),
        tables=contents,
        statements=_content(Section(section.take("statements"), section.at("statements"))),
        options=_texts(section, "options"),
        deleted=section.texts("deleted"),
        model_text=own.of_table(section.take("model_text"), section.at("model_text")),
        in_chunks=number == FORMAT or not is_large,
    )
    if count(section, "quarantined") != manifest.quarantined:
        raise BadInput("differs from the quarantine's rows", where=section.at("quarantined"))
    section.close()
    return manifest


def _texts(section: Section, key: str) -> dict[str, str]:
    inner = Section(section.take(key), section.at(key))
    return {name: inner.text(name, "") for name in inner.names()}


def count(section: Section, key: str) -> int:
    """A number of rows, or of a version. Raises `BadInput` unless it is a whole number."""
    value = section.take(key)
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        raise BadInput("expected a whole number", where=section.at(key))
    return value


def _sha256(section: Section) -> str:
    value = section.text("sha256")
    if len(value) != 64 or not _HEX.issuperset(value):
        raise BadInput("expected a SHA-256 in hexadecimal digits", where=section.at("sha256"))
    return value


def _content(section: Section) -> Content:
    content = Content(count(section, "rows"), _sha256(section))
    section.close()
    return content
