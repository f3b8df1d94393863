"""`lakewarden operations`: the operations of a model."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from lakewarden import models
from lakewarden.cli.model_text import is_file, read_model
from lakewarden.cli.outcome import NO, YES, show_json, show_table
from lakewarden.cli.question import As, open_realm
from lakewarden.cli.question_target import DATABASE, NOWHERE, SERVER, Where
from lakewarden.kernel.errors import BadInput
from lakewarden.kernel.model import ANY, Model
from lakewarden.models import own
from lakewarden.service.system import load_system


def operations(
    *,
    where: Where = NOWHERE,
    model: Annotated[str | None, Parameter(help="Or the name of a model.")] = None,
    about: Annotated[
        str | None, Parameter(help="Only operations on entities of this type.")
    ] = None,
    privileges: Annotated[
        bool, Parameter(help="List the privileges instead.", show_default=False)
    ] = False,
    format: As = "table",
) -> int:
    """Lists the operations of a model, and what each requires.

    Exit code 1 if there are none on that type.

    For example:

        lakewarden operations --model gravitino --about table
    """
    declared = _model(where, model)
    if about is not None:
        declared.check_type(about)
    keys, rows = _privileges(declared, about) if privileges else _operations(declared, about)
    if format == "json":
        show_json([dict(zip(keys, row, strict=True)) for row in rows])
    else:
        show_table(keys, rows)
    return YES if rows else NO


Rows = list[tuple[str, ...]]


def _operations(model: Model, about: str | None) -> tuple[tuple[str, ...], Rows]:
    return ("operation", "on", "rule", "title"), [
        (operation.name, on, rule, operation.title)
        for operation in model.operations.values()
        for on, rule in operation.texts.items()
        if about is None or on in (about, ANY)
    ]


def _privileges(model: Model, about: str | None) -> tuple[tuple[str, ...], Rows]:
    return ("privilege", "on", "title"), [
        (privilege.name, ", ".join(sorted(privilege.on)) or "the platform", privilege.title)
        for privilege in model.privileges.values()
        if about is None or {about, ANY} & privilege.on
    ]


def _model(where: Where, name: str | None) -> Model:
    places = (where.from_, where.server_options.server, where.database, name)
    sources = [place for place in places if place is not None]
    if len(sources) > 1 or (not sources and not {SERVER, DATABASE} & os.environ.keys()):
        expected = ", ".join(models.names())
        raise BadInput(
            "give one of --from DIR, --server URL, --database URL, --model NAME (one of:"
            f" {expected})"
        )
    if name is not None:
        return own.read(read_model(Path(name)), None, name) if is_file(name) else models.load(name)
    remote = where.remote()
    if remote is not None:
        return remote.model()
    if where.from_ is None:
        return open_realm(where).model
    from lakewarden.pipeline.directory_manifest import read_manifest

    manifest = read_manifest(where.from_)
    return load_system(manifest.model, manifest.settings, manifest.model_text).model
