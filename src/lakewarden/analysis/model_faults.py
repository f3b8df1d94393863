"""Everything that is wrong with the text of a model, each fault with its place.

Loading stops at the first fault. Here the faulty value is mended in the parsed table and the
rest is read again, until nothing is wrong any more; the text itself is never changed.
"""

from __future__ import annotations

import re
import tomllib
from dataclasses import dataclass, field
from typing import Any, Final

from lakewarden.analysis.toml_positions import Path, Position, position_of, positions
from lakewarden.kernel.errors import BadInput
from lakewarden.kernel.model_file import read
from lakewarden.models.own import check_own

MOST: Final = 100
"""So many faults are told at most."""

_COLUMN: Final = re.compile(r"column (\d+): (.*)", re.DOTALL)
_SYNTAX: Final = re.compile(r" \(at (?:line (\d+), column (\d+)|end of document)\)$")
_TICKED: Final = re.compile(r"`([^`]+)`")
_STEP: Final = re.compile(r'\."((?:[^"\\]|\\.)*)"|\.([^.\[\]"]+)|\[(\d+)\]')
_IN_MACRO: Final = re.compile(r": in macro `(\w+)`")

_STUB: Final = "nobody"
"""What stands in a rule for a word that is not known."""


@dataclass(frozen=True, slots=True)
class Fault:
    """One fault: the path of the field in the file, line and column from 1, and what is wrong.

    Line and column are 0 where the field is not in the file.
    """

    path: str
    line: int
    column: int
    message: str


def faults(text: str) -> list[Fault]:
    """All faults of a model's text, in the order of the file; none for a model that loads."""
    try:
        data = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        return [_syntax(str(error), text)]
    except RecursionError:
        return [Fault("", 1, 1, "nested too deep")]
    found = _Search(data, positions(text)).found()
    return sorted(found, key=lambda fault: (fault.line, fault.column, fault.path))


def _syntax(message: str, text: str) -> Fault:
    place = _SYNTAX.search(message)
    said = _SYNTAX.sub("", message).lower()
    if place is None or place[1] is None:
        lines = text.split("\n")
        return Fault("", len(lines), len(lines[-1]) + 1, said)
    return Fault("", int(place[1]), int(place[2]), said)


@dataclass(slots=True)
class _Search:
    """The parsed table, as it is mended; `gone` are names of what was taken out of it."""

    data: dict[str, Any]
    places: dict[Path, Position]
    gone: set[str] = field(default_factory=set)
    shifts: dict[Path, list[tuple[int, int]]] = field(default_factory=dict)

    def found(self) -> list[Fault]:
        known: dict[Fault, None] = {}
        for _ in range(10 * MOST):
            try:
                check_own(read(self.data, ""), "")
            except BadInput as error:
                fault = self._fault(error)
                if not self._is_consequence(error):
                    known[fault] = None
                if not self._mended(error) or len(known) >= MOST:
                    break
            else:
                break
        return list(known)

    def _is_consequence(self, error: BadInput) -> bool:
        """Whether only what was taken out is missing."""
        return bool(self.gone & set(_TICKED.findall(error.message)))

    def _fault(self, error: BadInput) -> Fault:
        path = _path(error.where)
        column = _COLUMN.match(error.message)
        if column is None:
            line, start = position_of(self.places, self._named(path, error))
            return Fault(_text(path), line, start, error.message)
        at = int(column[1])
        at -= sum(grown for start, grown in self.shifts.get(path, ()) if start < at)
        line, start = position_of(self.places, path, value=True)
        return Fault(_text(path), line, start + at, column[2])

    def _named(self, path: Path, error: BadInput) -> Path:
        """The place of an unknown key is that key's, not its table's."""
        if not error.message.startswith("unknown key"):
            return path
        return (*path, _TICKED.findall(error.message)[0])

    def _mended(self, error: BadInput) -> bool:
        """Mends what the error is about; False where nothing is there to mend."""
        path = _path(error.where)
        column = _COLUMN.match(error.message)
        if column is not None:
            return self._mend_rule(path, int(column[1]), column[2])
        if error.message.startswith("unknown key"):
            table = self._at(path)
            for key in _TICKED.findall(error.message):
                table.pop(key, None)
            return True
        return self._mend_value(path, error.message)

    def _mend_rule(self, path: Path, column: int, message: str) -> bool:
        table, key = self._at(path[:-1]), path[-1]
        text = table.get(key)
        word = next(iter(_TICKED.findall(message)), "")
        if not isinstance(text, str):
            table[key] = _STUB
            return True
        start = column - 1
        if word.isidentifier() and text[start : start + len(word)] == word and "unknown" in message:
            table[key] = text[:start] + _STUB + text[start + len(word) :]
            self.shifts.setdefault(path, []).append((column, len(_STUB) - len(word)))
            return "(" not in text[start + len(word) : start + len(word) + 1] or self._blank(path)
        return self._blank(path)

    def _blank(self, path: Path) -> bool:
        self._at(path[:-1])[path[-1]] = _STUB
        return True

    def _mend_value(self, path: Path, message: str) -> bool:
        table = self._at(path[:-1])
        if not isinstance(table, dict) or not path:
            return False
        key = path[-1]
        if path[0] == "model" and len(path) == 2:
            return self._mend_head(str(key), message)
        value = table.get(key)
        unknown = set(_TICKED.findall(message))
        if isinstance(value, list) and unknown & {one for one in value if isinstance(one, str)}:
            table[key] = [one for one in value if one not in unknown]
        elif path[0] == "operations" and len(path) == 2:
            # A rule that makes no sense where it is asked.
            rule = value.get("rule") if isinstance(value, dict) else None
            if not isinstance(value, dict) or rule in (None, _STUB):
                self._take_out(table, str(key))
            else:
                value["rule"] = _STUB
        elif len(path) > 2 and key in table and "expected" in message and key in ("rule", "on"):
            self._take_out(self._at(path[:-2]), str(path[-2]))
        elif len(path) > 2 and key not in table:
            table[key] = _STUB if key == "rule" else next(iter(unknown), "x")
            if path[0] == "attributes":
                self._take_out(self._at(path[:-2]), str(path[-2]))
        else:
            self._take_out(table, str(key))
        return True

    def _mend_head(self, key: str, message: str) -> bool:
        head = self.data.setdefault("model", {})
        fixed = {"name": "a-model", "spelling": "plain", "reach": "exactly", "gate": "anyone"}
        if key in ("title", "version", "source") or (key in fixed and head.get(key) != fixed[key]):
            head[key] = fixed.get(key, "x")
            return True
        return head.pop(key, None) is not None

    def _take_out(self, table: dict[str, Any], key: str) -> None:
        table.pop(key, None)
        self.gone.add(key.partition("(")[0])

    def _at(self, path: Path) -> Any:
        found: Any = self.data
        for step in path:
            if isinstance(found, dict) and step not in found:
                found[step] = {}
            found = found[step]
        return found


def _path(where: str) -> Path:
    """The path that a refusal names, as `.operations."read".rule: in macro `X``."""
    macro = _IN_MACRO.findall(where)
    if macro:
        return ("macros", macro[-1])
    return tuple(
        quoted.replace('\\"', '"') if quoted else plain if plain else int(index)
        for quoted, plain, index in _STEP.findall(where.partition(": ")[0])
    )


def _text(path: Path) -> str:
    """The path as the file would spell it."""
    shown = ""
    for step in path:
        if isinstance(step, int):
            shown += f"[{step}]"
        elif re.fullmatch(r"[A-Za-z0-9_-]+", step):
            shown += f".{step}"
        else:
            shown += f'."{step}"'
    return shown.removeprefix(".")
