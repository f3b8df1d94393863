"""`lakewarden operations`: what can be asked about?"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from lakewarden import models
from lakewarden.cli.asking import As, open_realm
from lakewarden.cli.outcome import NO, YES, show_json, show_table
from lakewarden.kernel.errors import BadInput
from lakewarden.kernel.model import Model


def operations(
    *,
    from_: Annotated[Path | None, Parameter("--from", help="Directory of a realm.")] = None,
    model: Annotated[str | None, Parameter(help="Name of a shipped model.")] = None,
    about: Annotated[str | None, Parameter(help="Only those about this entity type.")] = None,
    format: As = "table",
) -> int:
    """Which operations does a realm's model declare, and what does each require?

    Example: lakewarden operations --model gravitino --about table
    """
    declared = _model(from_, model)
    if about is not None:
        declared.check_type(about)
    found = [
        (operation.name, on, rule, operation.title)
        for operation in declared.operations.values()
        for on, rule in operation.texts.items()
        if about is None or on in (about, "any")
    ]
    if format == "json":
        keys = ("operation", "on", "rule", "title")
        show_json([dict(zip(keys, row, strict=True)) for row in found])
    else:
        show_table(("operation", "on", "rule", "title"), found)
    return YES if found else NO


def _model(directory: Path | None, name: str | None) -> Model:
    if (directory is None) == (name is None):
        expected = ", ".join(models.names())
        raise BadInput(f"give either --from DIR or --model NAME (one of: {expected})")
    if name is not None:
        return models.load(name)
    assert directory is not None  # noqa: S101 — INVARIANT: exactly one of the two is given
    return open_realm(directory).system.model
