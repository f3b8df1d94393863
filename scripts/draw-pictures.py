"""Draws the pictures of docs/architecture.md from the code: `draw-pictures.py FOLDER`.

The packages and their imports come from the import contracts and the source, the matrix from a
compiled sample, the rule from its model, the steps from the tables of docs/decision-path.md.
"""

from __future__ import annotations

import ast
import re
import sys
import tomllib
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from html import escape
from pathlib import Path
from typing import Final

from lakewarden import models
from lakewarden.engines import engine
from lakewarden.kernel import expression
from lakewarden.kernel.matrix import Matrix
from lakewarden.kernel.principal import USER, Principal, members_of
from lakewarden.kernel.relations import EntityRow, Facts, MembershipRow
from lakewarden.kernel.request import Request
from lakewarden.kernel.snapshot import compile
from lakewarden.kernel.statement_file import read_statements
from lakewarden.service.system import load_system

ROOT: Final = Path(__file__).resolve().parents[1]
SOURCE: Final = ROOT / "src" / "lakewarden"

# Both color schemes: an image in a page follows the reader's system.
STYLE: Final = """
text { font: 13px system-ui, sans-serif; fill: #1f2328; }
.small { font-size: 11px; fill: #59636e; }
.box { fill: #f6f8fa; stroke: #8c959f; }
.core { fill: #ddf4ff; stroke: #0969da; }
.yes { fill: #aceebb; stroke: #1a7f37; }
.no { fill: #ffffff; stroke: #8c959f; }
.line { stroke: #8c959f; fill: none; }
@media (prefers-color-scheme: dark) {
  text { fill: #f0f6fc; }
  .small { fill: #9198a1; }
  .box { fill: #151b23; stroke: #656c76; }
  .core { fill: #0c2d6b; stroke: #4493f8; }
  .yes { fill: #0f5323; stroke: #3fb950; }
  .no { fill: #0d1117; stroke: #656c76; }
  .line { stroke: #656c76; }
}
"""


class Picture:
    """Boxes, lines and texts on a sheet that grows with them."""

    def __init__(self, title: str) -> None:
        self.title, self.parts = title, list[str]()
        self.width = self.height = 0

    def box(
        self, x: int, y: int, w: int, h: int, kind: str, text: str = "", note: str = ""
    ) -> None:
        """A box with a text, and a smaller text below it."""
        self.parts.append(f'<rect class="{kind}" x="{x}" y="{y}" width="{w}" height="{h}" rx="4"/>')
        middle = y + h // 2 + (5 if not note else -2)
        if text:
            self.text(x + w // 2, middle, text, "middle")
        if note:
            self.text(x + w // 2, middle + 15, note, "middle", "small")
        self._grow(x + w, y + h)

    def text(self, x: int, y: int, text: str, anchor: str = "start", kind: str = "") -> None:
        self.parts.append(
            f'<text class="{kind}" x="{x}" y="{y}" text-anchor="{anchor}">{escape(text)}</text>'
        )
        self._grow(x + (0 if anchor != "start" else 7 * len(text)), y)

    def line(self, x1: int, y1: int, x2: int, y2: int) -> None:
        self.parts.append(f'<line class="line" x1="{x1}" y1="{y1}" x2="{x2}" y2="{y2}"/>')

    def _grow(self, x: int, y: int) -> None:
        self.width, self.height = max(self.width, x + 10), max(self.height, y + 10)

    def svg(self) -> str:
        head = (
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {self.width} {self.height}"'
            f' width="{self.width}" height="{self.height}" role="img">'
        )
        title = f"<title>{escape(self.title)}</title>"
        return "\n".join([head, title, f"<style>{STYLE}</style>", *self.parts, "</svg>\n"])


def overview() -> Picture:
    """What lakewarden reads, its stages, the engines that query it and those it pushes to."""
    sheet = Picture(
        "Systems that lakewarden reads, clients that query it, and databases that it pushes to"
    )
    titles = [models.load(name).title for name in ("gravitino", "datahub", "cdap")]
    pushed = set(engine.pushed_engines().values())
    asking = [engine.load(name).title for name in engine.NAMES if name not in pushed]
    columns = (
        (10, 270, (("Access control of", "core", titles), ("Read from", "box", _sources()))),
        (
            690,
            220,
            (
                ("Query it before they act", "core", asking),
                (
                    "Receive permissions",
                    "box",
                    [engine.load(name).title for name in sorted(pushed)],
                ),
            ),
        ),
    )
    for x, width, parts in columns:
        y = 10
        for head, kind, names in parts:
            sheet.text(x, y + 12, head, kind="small")
            for number, name in enumerate(names):
                sheet.box(x, y + 22 + number * 34, width, 28, kind, name)
            y += 40 + len(names) * 34
    high = sheet.height - 20
    sheet.box(335, 32, 300, high - 22, "no")
    sheet.text(485, 58, "lakewarden", "middle")
    for number, (name, note) in enumerate(_STAGES):
        step = (high - 66) // len(_STAGES)
        top = 76 + number * step
        sheet.box(355, top, 260, 52, "yes" if number == 1 else "core", name, note)
        if number:
            sheet.line(485, top - step + 52, 485, top)
    middle = 32 + (high - 22) // 2
    sheet.line(280, middle, 335, middle)
    sheet.line(635, middle, 690, middle)
    return sheet


_STAGES: Final = (
    ("model files", "types, privileges, operations, rules"),
    ("one matrix of decisions", "roles × classes of entities"),
    ("answers", "may, list, who, why, what if"),
    ("pages, command line, APIs", "and Spark jobs over everything"),
)


def _sources() -> list[str]:
    """The sources on the page of ingestion, except the systems and lakewarden itself."""
    page = (ROOT / "docs" / "pipeline.md").read_text("utf-8")
    rows = re.findall(r"^\| ([^|]+) \| [^|]*`[\w-]+`", page.split("| Source |")[1], re.MULTILINE)
    names = [re.sub(r"\[([^\]]+)\]\([^)]*\)", r"\1", row).partition(":")[0] for row in rows]
    kept = [name for name in names if name not in ("DataHub", "Gravitino", "CDAP")]
    return [name for name in kept if "lakewarden" not in name and "several" not in name][:6]


def packages() -> Picture:
    """The packages, layer by layer, with their lines and how many packages they use."""
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
    layers = next(
        one["layers"]
        for one in contracts["tool"]["importlinter"]["contracts"]
        if one["id"] == "layers"
    )
    sheet = Picture("Packages of lakewarden: each may import those below it")
    y = 10
    for layer in layers:
        names = [name.strip("() ") for name in layer.split("|")]
        there = [name for name in names if (SOURCE / name).is_dir() or _module(name).exists()]
        if "systems" in there:
            there = [
                f"systems/{one.name}"
                for one in sorted((SOURCE / "systems").iterdir())
                if one.is_dir() and one.name != "__pycache__"
            ]
        width = (920 - 10 * (len(there) - 1)) // len(there)
        for number, name in enumerate(there):
            kind = "box" if name.startswith("systems") else "core"
            used = _uses(name)
            uses = ", ".join(used)
            fits = uses if len(uses) * 6 < width else f"uses {len(used)} packages"
            sheet.box(10 + number * (width + 10), y, width, 42, kind, name, fits)
        y += 52
    return sheet


def _module(name: str) -> Path:
    return SOURCE / f"{name}.py"


def _uses(name: str) -> list[str]:
    """The packages that a package imports."""
    place = SOURCE / name
    files = place.rglob("*.py") if place.is_dir() else [_module(name)]
    found = Counter[str]()
    for file in files:
        for node in _statements(ast.parse(file.read_text("utf-8"))):
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("lakewarden."):
                found[str(node.module).split(".")[1]] += 1
    return sorted(set(found) - {name.split("/", maxsplit=1)[0]})


def _statements(tree: ast.AST) -> Iterator[ast.AST]:
    """All statements, without expressions: these are most of the tree and contain no imports."""
    todo = [tree]
    while todo:
        node = todo.pop()
        yield node
        todo += (one for one in ast.iter_child_nodes(node) if not isinstance(one, ast.expr))


def matrix() -> Picture:
    """Who may read which tables: the answers by class, from a compiled sample."""
    system = load_system("gravitino")
    tables = [f"lake:sales.{schema}.{name}" for schema in ("raw", "clean") for name in "abc"]
    texts = ["metalake:lake", "catalog:lake:sales", "schema:lake:sales.raw"]
    texts += ["schema:lake:sales.clean", *(f"table:{name}" for name in tables)]
    users = ("ana", "ben", "cleo")
    use = ["USE_CATALOG", "USE_SCHEMA"]
    given: list[dict[str, object]] = [
        {
            "id": "use",
            "privileges": use,
            "to": [f"user:{u}" for u in users],
            "on": "catalog:lake:sales",
        },
        {
            "id": "all",
            "privileges": ["SELECT_TABLE"],
            "to": ["user:ana"],
            "on": "catalog:lake:sales",
        },
        {
            "id": "clean",
            "privileges": ["SELECT_TABLE"],
            "to": ["user:ben"],
            "on": "schema:lake:sales.clean",
        },
        {
            "id": "one",
            "privileges": ["SELECT_TABLE"],
            "to": ["user:cleo"],
            "on": f"table:{tables[-1]}",
        },
    ]
    entities = [system.entity(text) for text in texts]
    people = [Principal(USER, user) for user in users]
    facts = Facts(
        entities=[EntityRow(one, system.spelling.parent(one)) for one in entities],
        principals=people,
        memberships=[MembershipRow(user, members_of("lake")) for user in people],
        statements=read_statements(given, system.model, system.spelling, "sample"),
    )
    asked = Matrix(compile(facts, system.model, system.spelling, now=0.0, revision=1))
    columns: dict[tuple[bool, ...], list[str]] = {}
    for name in tables:
        target = system.entity(f"table:{name}")
        answers = tuple(
            asked.decide(Request(Principal(USER, user), "table.load", target, 0.0)).allow
            for user in users
        )
        columns.setdefault(answers, []).append(name.removeprefix("lake:sales."))
    sheet = Picture("Matrix of decisions: a row for each user, a column for each class of entities")
    sheet.text(10, 24, "table.load")
    for number, (answers, names) in enumerate(columns.items()):
        x = 110 + number * 190
        sheet.text(x + 85, 24, ", ".join(names), "middle")
        for row, allowed in enumerate(answers):
            sheet.box(
                x,
                36 + row * 44,
                170,
                36,
                "yes" if allowed else "no",
                "allow" if allowed else "deny",
            )
    for row, user in enumerate(users):
        sheet.text(10, 58 + row * 44, user)
    sheet.text(
        10,
        36 + len(users) * 44 + 16,
        "Entities that no statement distinguishes share a column: a million tables, hundreds of columns.",
        kind="small",
    )
    return sheet


def rule() -> Picture:
    """The rule of one operation, as the kernel holds it."""
    operation = models.load("gravitino").operation("table.load")
    sheet = Picture("The rule of table.load in Gravitino's model")
    _draw(sheet, operation.rules["table"], 10, 10)
    return sheet


def _draw(sheet: Picture, node: expression.Node, x: int, y: int) -> int:
    """Draws a node and its children; returns the position for the next one."""
    inner = _inner(node)
    sheet.box(x, y, 220, 28, "core" if inner else "box", _label(node))
    below = y + 36
    for part in inner:
        sheet.line(x + 14, y + 28, x + 14, below + 14)
        sheet.line(x + 14, below + 14, x + 40, below + 14)
        below = _draw(sheet, part, x + 40, below)
    return below


def _inner(node: expression.Node) -> Sequence[expression.Node]:
    match node:
        case expression.And(parts) | expression.Or(parts):
            return parts
        case expression.At(_, inner) | expression.Every(_, inner) | expression.Some(_, inner):
            return (inner,)
    return ()


def _label(node: expression.Node) -> str:
    match node:
        case expression.And():
            return "all of"
        case expression.Or():
            return "any of"
        case expression.At(selector):
            return f"at {selector}"
        case expression.Holds(privilege):
            return privilege
        case expression.NotDenied(privilege):
            return f"not denied {privilege}"
        case expression.Owner(levels):
            return f"owner of {', '.join(levels)}"
    return type(node).__name__.lower()


def steps(title: str) -> Picture:
    """The steps of a section's first table in docs/decision-path.md, from top to bottom."""
    page = (ROOT / "docs" / "decision-path.md").read_text("utf-8")
    part = page.split(f"## {title}\n")[1].split("\n## ")[0].split("\n\nOr, ")[0]
    sheet = Picture(title)
    rows = re.findall(r"^\| \d+ \| `([\w.]+)`[^|]*\| ([^|]*) \|$", part, re.MULTILINE)
    for number, (symbol, says) in enumerate(rows):
        y = 10 + number * 66
        sheet.box(10, y, 380, 44, "core", symbol.removeprefix("lakewarden."))
        for at, line in enumerate(_wrapped(says)):
            sheet.text(405, y + 14 + at * 15, line, kind="small")
        if number:
            sheet.line(200, y - 22, 200, y)
    return sheet


def _wrapped(text: str) -> Iterable[str]:
    """At most three lines of a text without its markup."""
    words, line, lines = re.sub(r"[`*]|\s*\([^)]*`[^)]*\)", "", text).split(), "", list[str]()
    for word in words:
        if len(line) + len(word) > 88:
            lines.append(line)
            line = ""
        line = f"{line} {word}".strip()
    return [*lines, line][:3]


def pictures() -> dict[str, str]:
    """All pictures, by the names of their files."""
    made = {
        "overview": overview(),
        "matrix": matrix(),
        "packages": packages(),
        "rule": rule(),
        "question": steps("Steps of a decision"),
        "request": steps("Steps of an HTTP request"),
        "batch-row": steps("Steps of a batch row"),
    }
    return {f"{name}.svg": picture.svg() for name, picture in made.items()}


def main() -> None:
    """Writes the pictures to the folder that the command line names."""
    folder = Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in pictures().items():
        (folder / name).write_text(text, "utf-8")


if __name__ == "__main__":
    main()
