"""A page for each declared model: what may be granted, what each operation requires, and why.

The pages depend only on the model files and are byte-for-byte reproducible;
a page in the repository can therefore be compared with its model:

    python -m lakewarden.testing.pages docs/models            # write them
    python -m lakewarden.testing.pages --check docs/models    # exit 1 when one differs

A setting that changes the model gets its own section, with the rows that it changes.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
import tomllib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from lakewarden import models
from lakewarden.engines import mapping
from lakewarden.engines.engine import Act
from lakewarden.engines.mapping import ON, EngineMapping
from lakewarden.engines.place import Place
from lakewarden.kernel.model import (
    ANY,
    NONE,
    VALUES,
    Field,
    Model,
    Operation,
    Privilege,
    Table,
)
from lakewarden.kernel.model_file import EFFECTS

MARK = "<!-- Written by `make docs` from the model file; change that instead. -->"
"""Second part of each page's head; a file without it is never modified."""

_CODE = re.compile(r"(`[^`]*`)")
_TICKS = re.compile(r"`+")
_SPECIAL = re.compile(r"([\\`*_\[\]|#])")
_UNGATED = "no gate"
_TRUE = "yes"


@dataclass(frozen=True, slots=True)
class _Part:
    """One table of a page: its heading, columns, and rows by the declared name."""

    heading: str
    intro: str
    columns: tuple[str, ...]
    rows: Mapping[str, tuple[str, ...]]


def page(text: str, where: str) -> str:
    """The Markdown page of the model that TOML `text` declares; `where` names it in errors.

    Raises `BadInput` when the text is not a model.
    """
    model = models.loads(text, where)
    settings = tomllib.loads(text).get("settings", {})
    parts = _parts(model)
    blocks = [f"# {_text(model.title)}", MARK, *_head(model)]
    blocks += _table(_settings(settings))
    for part in parts:
        blocks += _table(part)
    for name, value in _alternatives(settings):
        other = models.loads(text, where, {name: value})
        blocks += _differences(name, value, parts, _parts(other))
    for engine, answered in models.engines_of(models.parsed(text, where), where).items():
        blocks += _engine(answered, models.loads(text, where, {engine: ON}))
    return "\n\n".join(blocks) + "\n"


def pages() -> dict[str, str]:
    """The pages of all shipped models and of the engines that they serve, by file name."""
    engines = {
        f"{name}-{engine}.md": _of_engine(name, one)
        for name in models.names()
        for engine, one in mapping.of_model(name).items()
    }
    return {f"{name}.md": _shipped(name) for name in models.names()} | engines


def _of_engine(name: str, answered: EngineMapping) -> str:
    """What each act of an engine requires in a shipped model."""
    engine = answered.engine
    model = models.load(name, {engine.name: ON})
    blocks = [f"# {engine.title} on {_text(model.title)}", MARK, *_engine(answered, model)]
    return "\n\n".join(blocks) + "\n"


def _engine(answered: EngineMapping, model: Model) -> Iterator[str]:
    """What each act of an engine requires in a model that serves it, and how names are mapped."""
    engine = answered.engine
    columns = ("operation", "what", "requires", "remarks")
    rows = {
        act.name: (
            _code(act.name),
            _text(act.title),
            _rules(model.operations[answered.operation(act.name)]),
            _join(_act_remarks(answered, act, model.operations[answered.operation(act.name)])),
        )
        for act in engine.acts.values()
    }
    intro = f"Rules are those of `{model.name}.md`, in the same language; `explain` knows each"
    intro = f"{intro} operation as `{engine.name}.OPERATION`."
    names = {
        one.name: (_code(one.name), _code(one.type), _code(one.template), _digested(one))
        for one in answered.places.values()
    }
    parts = {name: (_code(name), _code(default)) for name, default in answered.parts.items()}
    yield f"{engine.title} {_text(engine.version)}. Source: {_text(engine.source)}."
    if not engine.recorded:
        yield "The operations were read from the sources; none was recorded from an engine."
    yield from _table(_Part("Operations", intro, columns, rows))
    yield from _table(_Part("Names", "", ("what", "type", "name", "digest of"), names))
    intro = f"Set by `[{engine.name}.REALM] parts`."
    yield from _table(_Part("Parts of names", intro, ("part", "default"), parts))


def _digested(place: Place) -> str:
    return ", ".join(f"{_code(key)}: {_code(text)}" for key, text in place.digested.items())


def _act_remarks(answered: EngineMapping, act: Act, operation: Operation) -> Iterator[str]:
    engine = answered.engine
    if operation.note:
        yield _text(operation.note)
    places = [answered.places[name] for name in answered.about[act.name] if name in answered.places]
    elsewhere = [place.name for place in places if place.name != place.type]
    if elsewhere:
        yield f"of the {' or '.join(map(_code, elsewhere))}"
    if act.name in answered.within:
        yield f"or {_code(answered.within[act.name])} on something inside"
    if act.own:
        yield "always allowed on oneself"
    if act.declared:
        yield "allowed on what every client reads"
    if act.whole:
        yield "denied to whom a row filter or a column mask binds"
    if act.renames:
        yield "denied to whom a DENY on a column binds"
    if act.enters:
        yield f"and {_code(act.enters)} where it comes to lie, or on what it is put"
    if engine.recorded and not act.recorded:
        yield "not recorded from a running engine"


@cache
def _shipped(name: str) -> str:
    file = f"{name}.toml"
    return page(models.text(name), file)


def stale(folder: Path) -> list[str]:
    """The file names in `folder` that `write` would change, add or remove; sorted."""
    expected = pages()
    changed = {name for name, text in expected.items() if _on_disk(folder / name) != text}
    return sorted(changed | {path.name for path in _left_over(folder, expected)})


def write(folder: Path) -> list[str]:
    """Writes the pages into `folder` and removes those of models that no longer exist.

    Returns the names of the changed files; other files are not modified.
    """
    changed, expected = stale(folder), pages()
    folder.mkdir(parents=True, exist_ok=True)
    for path in _left_over(folder, expected):
        path.unlink()
    for name, text in expected.items():
        if name in changed:
            (folder / name).write_text(text, "utf-8", newline="\n")
    return changed


def main(arguments: Sequence[str] | None = None) -> int:
    """The command line. 0: done, or nothing to do; 1: with `--check`, a page differs."""
    parser = argparse.ArgumentParser("lakewarden.testing.pages", description="pages of models")
    parser.add_argument("folder", type=Path, help="where the pages are")
    parser.add_argument("--check", action="store_true", help="only compare, exit 1 if one differs")
    options = parser.parse_args(arguments)
    changed = stale(options.folder) if options.check else write(options.folder)
    for name in changed:
        print(options.folder / name, file=sys.stderr if options.check else sys.stdout)
    return 1 if options.check and changed else 0


def _on_disk(path: Path) -> str | None:
    return path.read_bytes().decode("utf-8", "replace") if path.is_file() else None


def _left_over(folder: Path, expected: Mapping[str, str]) -> list[Path]:
    paths = sorted(folder.glob("*.md"))
    return [path for path in paths if path.name not in expected and MARK in (_on_disk(path) or "")]


def _head(model: Model) -> Iterator[str]:
    yield f"Model {_code(model.name)}, of {_text(model.title)} {_text(model.version)}."
    yield f"Source: {_text(model.source)}"
    facts = [
        f"names are spelt by {_code(model.spelling)}",
        "grants die with their entity" if model.binds_identity else "statements bind to names",
        f"DENY: {_TRUE if model.denies else 'no'}",
    ]
    if model.gate != "anyone":
        facts.append(f"every operation also requires {_code(model.gate)}, unless marked {_UNGATED}")
    if model.granting is not None:
        facts.append(f"granting a privilege on an entity requires {_code(model.granting)}")
    if model.self_privileges:
        privileges = _codes(sorted(model.self_privileges))
        facts.append(f"on the entity that a user is, that user holds {privileges}")
    yield "\n".join(f"- {fact}" for fact in facts)


def _settings(settings: Mapping[str, Mapping[str, object]]) -> _Part:
    rows = {
        name: (
            _code(name),
            _text(str(declared["title"])),
            _codes(_texts(declared["values"])) if "values" in declared else "types",
            _code(str(declared["default"])) if "values" in declared else "none",
            _text(str(declared.get("source", ""))),
        )
        for name, declared in settings.items()
    }
    columns = ("setting", "what it chooses", "values", "default", "source")
    intro = "The rest of this page shows the defaults; what another value changes comes last."
    return _Part("Settings", intro, columns, rows)


def _alternatives(settings: Mapping[str, Mapping[str, object]]) -> Iterator[tuple[str, str]]:
    for name, declared in settings.items():
        for value in _texts(declared.get("values")):
            if value != declared["default"]:
                yield name, value


def _texts(value: object) -> list[str]:
    return [value] if isinstance(value, str) else [str(item) for item in _items(value)]


def _items(value: object) -> list[object]:
    return list(value) if isinstance(value, list) else []


def _parts(model: Model) -> list[_Part]:
    return [
        _types(model),
        _matrix(model),
        _privileges(model),
        _macros(model),
        _operations(model),
        _access(model),
        _effects(model),
        _relations(model),
        _fields(model),
        _attributes(model),
        _tables("Default statements", "In force from the start.", model.defaults),
        _tables("Roles", "There from the start.", model.roles),
    ]


def _types(model: Model) -> _Part:
    rows = {
        declared.name: (
            _code(declared.name),
            _text(declared.title),
            _codes(declared.parents),
            _TRUE if declared.owned else "",
            "rows" if declared.filtered else "values" if declared.masked else "",
            _code(declared.principal or ""),
            "judged by its name" if declared.judged else "denied",
            _text(declared.source),
        )
        for declared in model.types.values()
    }
    columns = (
        "type",
        "what",
        "inside",
        "has owners",
        "limited are",
        "also a",
        "name not stored",
        "source",
    )
    return _Part("Types", "", columns, rows)


def _matrix(model: Model) -> _Part:
    """Privileges by the types on which they may be granted."""
    named = {type for privilege in model.privileges.values() for type in privilege.on}
    columns = [type for type in dict.fromkeys((*model.types, ANY)) if type in named]
    rows = {
        privilege.name: (
            _code(privilege.name),
            *("×" if type in privilege.on else "" for type in columns),
            "×" if not privilege.on else "",
        )
        for privilege in model.privileges.values()
    }
    heads = ("privilege", *map(_code, columns), "no resource")
    return _Part("Which privilege on which type", "", heads, rows)


def _privileges(model: Model) -> _Part:
    rows = {
        privilege.name: (
            _code(privilege.name),
            _text(privilege.title),
            privilege.reach.value,
            _join(_privilege_remarks(privilege)),
            _text(privilege.source),
        )
        for privilege in model.privileges.values()
    }
    return _Part("Privileges", "", ("privilege", "lets", "reaches", "remarks", "source"), rows)


def _privilege_remarks(privilege: Privilege) -> Iterator[str]:
    if privilege.aliases:
        yield f"older names: {_codes(privilege.aliases)}"
    if privilege.implied_by:
        yield f"follows from {_codes(privilege.implied_by)}"
    if not privilege.grantable:
        yield "cannot be granted"
    if privilege.flags:
        yield f"marks: {', '.join(map(_text, privilege.flags))}"
    if privilege.asked:
        yield f"no operation names it: {_text(privilege.asked)}"
    if privilege.note:
        yield _text(privilege.note)


def _macros(model: Model) -> _Part:
    rows = {name: (_code(name), _code(text)) for name, text in model.macros.items()}
    return _Part("Shorthands of the rules", "", ("shorthand", "stands for"), rows)


def _access(model: Model) -> _Part:
    ways = {**model.access, VALUES: model.values}
    rows = {way: (_code(way), _codes(names)) for way, names in ways.items() if names}
    note = "What `lakewarden access` asks, by the type of the asset."
    return _Part("Reaching an asset", note, ("way", "operations"), rows)


def _operations(model: Model) -> _Part:
    rows = {
        operation.name: (
            _code(operation.name),
            _text(operation.title),
            _rules(operation),
            _join(_operation_remarks(operation, model)),
            _text(operation.since),
            _text(operation.source),
        )
        for operation in model.operations.values()
    }
    columns = ("operation", "what", "requires", "remarks", "since", "source")
    return _Part("Operations", "", columns, rows)


def _rules(operation: Operation) -> str:
    """The rule texts, each with the types to which it applies."""
    types_by_text: dict[str, list[str]] = {}
    for type, text in operation.texts.items():
        types_by_text.setdefault(text, []).append(type)
    shown = {ANY: "any other type" if len(operation.texts) > 1 else "any type", NONE: "no resource"}
    return "<br>".join(
        f"{', '.join(shown.get(type) or _code(type) for type in types)}: {_code(text)}"
        for text, types in types_by_text.items()
    )


def _operation_remarks(operation: Operation, model: Model) -> Iterator[str]:
    if model.gate != "anyone" and not operation.gated:
        yield _UNGATED
    for name, types in operation.targets.items():
        yield f"names a further {_code(name)} ({_codes(_ordered(types, model)) or 'of any type'})"
    for name, types in operation.lists.items():
        yield f"sends a list {_code(name)} ({_codes(_ordered(types, model)) or 'of any type'})"
    if operation.filter is not None:
        yield f"of each found: {_code(operation.filter)}"
    if operation.effects:
        yield f"effects: {', '.join(operation.effects)}"
    if operation.asked:
        yield f"no call asks it: {_text(operation.asked)}"
    if operation.note:
        yield _text(operation.note)


def _effects(model: Model) -> _Part:
    used = {effect for operation in model.operations.values() for effect in operation.effects}
    rows = {name: (name, _text(meaning)) for name, meaning in EFFECTS.items() if name in used}
    return _Part("Effects", "", ("effect", "of a success"), rows)


def _relations(model: Model) -> _Part:
    rows = {
        declared.name: (
            _code(declared.name),
            _codes(_ordered(declared.sources, model)) or "any",
            _codes(_ordered(declared.targets, model)) or "any",
            _join(
                (
                    *(f"{_code(a)} as its {_code(b)}" for a, b in declared.within.items()),
                    *filter(None, [_text(declared.note)]),
                )
            ),
        )
        for declared in model.relations.values()
    }
    return _Part("Relations", "", ("relation", "from", "to", "remarks"), rows)


def _fields(model: Model) -> _Part:
    rows = {
        declared.name: (
            _code(declared.name),
            _codes(declared.aliases),
            _codes(declared.origin),
            _codes(_ordered(declared.up, model)),
            _codes(_ordered(declared.itself, model)),
            _field_remarks(declared),
            _text(declared.source),
        )
        for declared in model.fields.values()
    }
    columns = (
        *("field", "also written", "resolves to", "and what is above", "and itself"),
        *("remarks", "source"),
    )
    return _Part("Fields of criteria", "", columns, rows)


def _field_remarks(field: Field) -> str:
    remarks = ["inherited by what lies below"] if field.inherited else []
    remarks += ["all of them count"] if field.every else []
    remarks += [] if field.grants else ["only for filters and masks"]
    remarks += [f"filters and masks choose by `{field.limits}`"] if field.limits else []
    return "; ".join(remarks)


def _attributes(model: Model) -> _Part:
    rows = {
        declared.name: (_code(declared.name), declared.type.__name__, declared.source.value)
        for declared in model.attributes.values()
    }
    return _Part("Attributes", "", ("attribute", "type", "taken from"), rows)


def _tables(heading: str, intro: str, tables: Sequence[Table]) -> _Part:
    """Statements and roles as in the file, with a column for each key."""
    columns = tuple(dict.fromkeys(str(key) for table in tables for key in table))
    rows = {
        str(number): tuple(_value(table.get(column)) for column in columns)
        for number, table in enumerate(tables)
    }
    return _Part(heading, intro, columns, rows)


def _value(value: object) -> str:
    if value is None or value == []:
        return ""
    if isinstance(value, str):
        return _code(value)
    if isinstance(value, list) and all(isinstance(item, str) for item in value):
        return _codes(value)
    return _code(json.dumps(value, ensure_ascii=False, default=str))


def _differences(
    name: str, value: str, default_parts: Sequence[_Part], setting_parts: Sequence[_Part]
) -> Iterator[str]:
    """What the setting changes: the new or different rows, and the removed ones."""
    yield f"## With {_code(name)} = {_code(value)}"
    if default_parts == setting_parts:
        yield "The same declarations; what it chooses is said above."
    for part, other in zip(default_parts, setting_parts, strict=True):
        changed = {key: row for key, row in other.rows.items() if part.rows.get(key) != row}
        if part.columns != other.columns:
            changed = dict(other.rows)
        removed = [row[0] for key, row in part.rows.items() if key not in other.rows]
        if changed or removed:
            yield f"### {part.heading}"
        if changed:
            yield _grid(other.columns, changed.values())
        if removed:
            yield f"Gone: {', '.join(removed)}."


def _table(part: _Part) -> Iterator[str]:
    if part.rows:
        yield f"## {part.heading}"
        if part.intro:
            yield part.intro
        yield _grid(part.columns, part.rows.values())


def _grid(columns: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [columns, ["---"] * len(columns), *rows]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines)


def _ordered(types: Iterable[str], model: Model) -> list[str]:
    known = set(types)
    return [type for type in model.types if type in known] + sorted(known - set(model.types))


def _join(remarks: Iterable[str]) -> str:
    return "; ".join(remarks)


def _codes(texts: Iterable[str]) -> str:
    return ", ".join(map(_code, texts))


def _code(text: str) -> str:
    """A code span that is valid inside a table; empty for an empty text."""
    if not text:
        return ""
    longest = max(map(len, _TICKS.findall(text)), default=0)
    fence, space = "`" * (longest + 1), " " if longest else ""
    return f"{fence}{space}{_line(text)}{space}{fence}".replace("|", r"\|")


def _text(text: str) -> str:
    """Prose for a table cell: Markdown syntax is escaped, code spans are kept."""
    pieces = _CODE.split(_line(text))
    return "".join(
        _code(piece[1:-1]) if number % 2 else _escaped(piece) for number, piece in enumerate(pieces)
    )


def _escaped(text: str) -> str:
    escaped = _SPECIAL.sub(r"\\\1", text.replace("&", "&amp;"))
    return escaped.replace("<", "&lt;").replace(">", "&gt;")


def _line(text: str) -> str:
    return " ".join(text.split())


if __name__ == "__main__":
    raise SystemExit(main())
