"""`lakewarden model`: files of custom models."""

from __future__ import annotations

from importlib import resources
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from lakewarden.cli.model_text import read_model
from lakewarden.cli.outcome import NO, YES, note, show, show_document, show_json
from lakewarden.cli.question import As
from lakewarden.cli.text_file import refusal
from lakewarden.models import own

EXAMPLE = "model_example.toml"


def check(
    file: Annotated[Path, Parameter(help="Model file.")],
    /,
    *,
    format: As = "table",
) -> int:
    """Validates a model file, and shows its page.

    Reports the first error with line, column and path of the field. The page shows what may be
    granted, what each operation requires, and why. Exit code 1 for an error, 2 for a file that
    cannot be read.

    For example:

        lakewarden model check ./documents.toml
    """
    from lakewarden.analysis.model_fault import fault_of
    from lakewarden.testing.pages import MARK, page

    model_text = read_model(file)
    fault = fault_of(model_text.text)
    text = "" if fault else page(model_text.text, str(file)).replace(f"{MARK}\n\n", "")
    if format == "json":
        show_json(
            {
                "file": str(file),
                "model": None if fault else own.name_of(model_text, str(file)),
                "digest": model_text.digest,
                "fault": None if fault is None else fault._asdict(),
                "page": text,
            }
        )
    elif fault is None:
        for line in text.splitlines():
            show(line)
    else:
        place = f"{file}:{fault.line}:{fault.column}" if fault.line else str(file)
        show(": ".join(part for part in (place, fault.path, fault.message) if part))
    return YES if fault is None else NO


def new(
    file: Annotated[Path | None, Parameter(help="Output file; default: standard output.")] = None,
    /,
) -> int:
    """Writes a commented example of a model.

    Never overwrites a file.

    For example:

        lakewarden model new ./documents.toml
    """
    text = resources.files("lakewarden.cli").joinpath(EXAMPLE).read_text("utf-8")
    if file is None:
        show_document(text)
        return YES
    try:
        with file.open("x", encoding="utf-8") as out:
            out.write(text)
    except OSError as error:
        raise refusal(file, error) from None
    note(f"{file}: an example model; `lakewarden model check {file}` shows its page")
    return YES
