"""`lakewarden --version --systems`: the installed systems, and their errors."""

from __future__ import annotations

from collections.abc import Sequence

from lakewarden.cli import EXTRAS
from lakewarden.cli.outcome import NO, YES, note, show_json, show_table
from lakewarden.registry import registry

FLAGS = ("--version", "--systems")


def is_requested(tokens: Sequence[str]) -> bool:
    """Whether the command line requests the systems; `--format json` may be added."""
    arguments = [token for token in tokens if token not in ("--format", "json", "--format=json")]
    return sorted(arguments) == sorted(FLAGS)


def show_systems(*, as_json: bool) -> int:
    """Lists the systems, and the extras that parts need; exit code 1 if a system is broken."""
    known = registry()
    missing = known.check(EXTRAS)
    extras = {
        name: sorted({EXTRAS[library] for library in libraries})
        for name, libraries in sorted(missing.items())
    }
    rows = [
        (
            system.name,
            system.version,
            system.title,
            ", ".join(system.models),
            ", ".join(system.sources),
        )
        for system in known.systems.values()
        if system.name not in known.problems
    ]
    if as_json:
        names = ("name", "version", "title", "models", "sources")
        listed = [dict(zip(names, row, strict=True)) for row in rows]
        show_json({"systems": listed, "problems": known.problems, "missing_extras": extras})
    else:
        show_table(("system", "version", "title", "models", "sources"), rows)
        for name, why in sorted(known.problems.items()):
            note(f"{name} was left out: {why}")
        for name, needed in extras.items():
            note(f"parts of {name} need: pip install 'lakewarden[{','.join(needed)}]'")
    return NO if known.problems else YES
