"""What an engine's acts require in a model: a file of the system, checked against both.

Every act of the engine is there once, with a rule in the model's language, or with `never` or
`anyone` and the reason. It becomes an operation of the model, `trino.SelectFromColumns`.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Final

from lakewarden.engines import engine as engines
from lakewarden.engines.engine import Engine
from lakewarden.kernel.errors import BadInput
from lakewarden.kernel.model import NONE, Table
from lakewarden.kernel.toml_section import Section
from lakewarden.registry import registry

OFF: Final = "off"
ON: Final = "on"

PARTS: Final = frozenset(
    {
        *("metalake", "catalog", "schema"),
        *("table", "view", "column", "function", "topic", "fileset"),
    }
)
"""What a template of a name may have in braces."""

NOBODY: Final = "nobody"
"""The rule of an act that is `never` allowed."""

_UNCONDITIONAL: Final = {"never": NOBODY, "anyone": "anyone"}
_PLACEHOLDER: Final = re.compile(r"\{(\w+)\}")


@dataclass(frozen=True, slots=True)
class EngineMapping:
    """The acts of an engine in one model.

    `operations` are what the model gets, as its file would have them. `names` are templates of
    the names of entities, by type, with parts of the request in braces.
    """

    engine: Engine
    model: str
    operations: Mapping[str, Table]
    names: Mapping[str, str]

    def operation(self, act: str) -> str:
        """The model's operation for an act.

        >>> of_model("gravitino")["trino"].operation("DropTable")
        'trino.DropTable'
        """
        return f"{self.engine.name}.{act}"


@cache
def of_model(model: str) -> Mapping[str, EngineMapping]:
    """The mappings that the model's system ships, by engine; none for a model of one's own."""
    system = registry().shipping(model)
    if system is None:
        return {}
    mappings = [
        read(system.text(file), f"{system.name}/{file}") for file in system.engines.values()
    ]
    return {mapping.engine.name: mapping for mapping in mappings if mapping.model == model}


def read(text: str, where: str) -> EngineMapping:
    """The mapping that TOML `text` declares; `BadInput` names the file and the field."""
    try:
        file = Section(tomllib.loads(text), where)
    except tomllib.TOMLDecodeError as error:
        raise BadInput(str(error).lower(), where=where) from None
    head = Section(file.take("mapping"), file.at("mapping"))
    engine = engines.load(head.choice("engine", dict.fromkeys(engines.NAMES)))
    model = head.text("model")
    names = Section(file.take("names"), file.at("names"))
    templates = {type: _template(names, type) for type in names.names()}
    acts = file.named("acts")
    _check_complete(engine, acts, file.at("acts"))
    operations = {
        f"{engine.name}.{name}": _operation(engine, name, section) for name, section in acts.items()
    }
    for section in (head, file):
        section.close()
    return EngineMapping(engine, model, operations, templates)


def placeholders(template: str) -> frozenset[str]:
    """What a template of a name has in braces.

    >>> sorted(placeholders("{metalake}:{catalog}"))
    ['catalog', 'metalake']
    """
    return frozenset(_PLACEHOLDER.findall(template))


def _template(names: Section, type: str) -> str:
    template = names.text(type)
    for part in sorted(placeholders(template)):
        if part not in PARTS:
            expected = ", ".join(sorted(PARTS))
            message = f"unknown `{{{part}}}`; expected one of: {expected}"
            raise BadInput(message, where=names.at(type))
    return template


def _check_complete(engine: Engine, acts: Mapping[str, Section], where: str) -> None:
    unknown, missing = sorted({*acts} - {*engine.acts}), sorted({*engine.acts} - {*acts})
    if unknown:
        raise BadInput(f"`{unknown[0]}` is not an operation of {engine.title}", where=where)
    if missing:
        raise BadInput(f"no rule for `{missing[0]}`", where=where)


def _operation(engine: Engine, name: str, section: Section) -> Table:
    """The act as an operation of a model file; its rules are checked with the model's."""
    act = engine.acts[name]
    table: dict[str, object] = {
        "title": f"{engine.title}: {act.title}",
        "source": engine.source,
        "note": section.text("note", ""),
    }
    for key, rule in _UNCONDITIONAL.items():
        reason = section.text(key, "")
        if reason:
            table |= {"on": NONE, "rule": rule, "gate": False, "note": reason}
    if "rule" not in table:
        rules = section.take("rules")
        if rules is None:
            table |= {"on": list(section.texts("on")), "rule": section.text("rule")}
        else:
            table["rules"] = rules
    section.close()
    return table
