"""A system's part of the sample estate and of its demo."""

from __future__ import annotations

import json
import shlex
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Question:
    """A question to the realm; `says` is its wording, `remark` what it teaches."""

    verb: str
    says: str
    asker: str
    operation: str
    entity: str
    remark: str = ""

    def command(self, directory: Path) -> str:
        """The command line that asks this question on the ingested directory."""
        arguments = [self.verb, self.asker, self.operation, self.entity]
        quoted = [shlex.quote(argument) for argument in arguments if argument]
        return " ".join(["lakewarden", *quoted, "--from", shlex.quote(str(directory))])


@dataclass(frozen=True, slots=True, kw_only=True)
class EnginePart:
    """A table with rows that engines read within the limits of a realm of the system.

    `entity` is the table, `name` its catalog, schema and own name. All `columns` are texts, and no
    cell of the `rows` has a quote. `limits` are filters and masks, in the form of policy files.
    `settings` are those of the realm for decisions to engines, `names` the section of each engine.
    The `owner` may create the table; `readers` are users, each with the lesson of what they see.
    """

    entity: str
    name: tuple[str, str, str]
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    limits: tuple[Mapping[str, object], ...]
    settings: Mapping[str, str]
    names: Mapping[str, Mapping[str, object]]
    owner: str
    readers: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class SamplePart:
    """The export files of one system, the realm made from them, and the demo of it.

    `path` is the file or folder below the sample's data, `source` the kind of source that reads
    it. `settings` are those of the realm, and `server_settings` those of the server's section,
    where they differ from the defaults. `commands` are further questions (verb and arguments) to
    the directory, `calls` remarks with bodies of AuthZEN evaluations or paths to GET from the
    server as `ana`. `engines` is what engines read of it.
    """

    path: str
    source: str
    settings: Mapping[str, str] = field(default_factory=dict)
    server_settings: Mapping[str, object] = field(default_factory=dict)
    questions: tuple[Question, ...] = ()
    commands: tuple[tuple[str, ...], ...] = ()
    calls: tuple[tuple[str, str], ...] = ()
    engines: EnginePart | None = None


def evaluation(operation: str, type: str, id: str) -> str:
    """The body of an AuthZEN evaluation for Ana."""
    return json.dumps(
        {
            "subject": {"type": "user", "id": "ana"},
            "action": {"name": operation},
            "resource": {"type": type, "id": id},
        }
    )
