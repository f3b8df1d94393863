"""The shipped models, and what each declares: the index of their pages."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from lakewarden import models
from scripts.docs_site.reference.markdown import code, table

PATH: Final = "docs/models/index.md"
HEAD = """# Models

Every rule, privilege and role is declared in a model file. A page for each, written from it, says
what may be granted on what, what each operation requires, and from which source that was taken.
[Model files](../model-files.md) explains the language.
"""


def page(root: Path) -> str:
    """The page: models with their sizes, then the mappings of engines."""
    names = {path.stem for path in (root / "docs/models").glob("*.md")}
    of_models = sorted(name for name in names if "-" not in name)
    rows = []
    for name in of_models:
        model = models.load(name)
        sizes = (model.types, model.privileges, model.operations, model.roles)
        link = f"[{model.title}]({name}.md)"
        rows.append((link, model.version, *(str(len(part)) for part in sizes)))
    mappings = [
        (f"[{_title(root, name)}]({name}.md)", code(name.partition("-")[0]))
        for name in sorted(names - set(of_models))
    ]
    columns = ("Model", "Versions", "Types", "Privileges", "Operations", "Roles")
    return "\n".join(
        [
            HEAD,
            table(columns, rows),
            "## Engines\n",
            "What an act of an engine requires in a realm of a model:\n",
            table(("Mapping", "Model"), mappings),
        ]
    )


def _title(root: Path, name: str) -> str:
    first = (root / f"docs/models/{name}.md").read_text("utf-8").partition("\n")[0]
    return first.removeprefix("# ")
