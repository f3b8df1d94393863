"""`lakewarden pipeline diff`: who gains and loses access, under other policies or over time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final, Literal

from cyclopts import Parameter

from lakewarden import __version__
from lakewarden.cli import policy_file
from lakewarden.cli.folder import Folder
from lakewarden.cli.moment import finite
from lakewarden.cli.outcome import NO, YES, show_json
from lakewarden.cli.pipeline import diff_summary
from lakewarden.cli.pipeline.product import show_product
from lakewarden.cli.pipeline.progress import running
from lakewarden.cli.pipeline.spark_options import LOCAL, Spark
from lakewarden.cli.pipeline.table_options import AS_FILES, TableOptions
from lakewarden.kernel.errors import BadInput
from lakewarden.pipeline.storage.location import Location

if TYPE_CHECKING:
    from lakewarden.pipeline.job import Result

FailOn = Literal["any", "gained", "lost", "nothing"]

Shown = Literal["table", "json", "markdown", "sarif"]


@Parameter("*")
@dataclass(frozen=True)
class Files:
    """The policy that replaces that of the index."""

    statements: Annotated[
        tuple[Path, ...],
        Parameter(
            help="Policy files, TOML or YAML; a folder includes its files.",
            consume_multiple=True,
            show_default=False,
        ),
    ] = ()
    only: Annotated[
        bool,
        Parameter(help="The files are the whole policy: other statements are removed."),
    ] = False
    now: Annotated[
        float | None,
        Parameter(
            help="Time at which validity of statements is evaluated, in seconds; default: now.",
            validator=finite,
        ),
    ] = None


NO_FILES: Final = Files()


def diffing(  # noqa: PLR0913 — a parameter for each option
    index: Annotated[Folder, Parameter(help="Folder that `lakewarden pipeline index` wrote.")],
    later: Annotated[Folder | None, Parameter(help="Another such folder, of a later time.")] = None,
    /,
    *,
    out: Annotated[Folder, Parameter(help="Output folder, created if missing.")],
    files: Files = NO_FILES,
    fail_on: Annotated[FailOn, Parameter(help="Exit with 1 for these changes.")] = "any",
    spark: Spark = LOCAL,
    tables: TableOptions = AS_FILES,
    format: Annotated[
        Shown, Parameter("--format", help="Output format; the last two are for pull requests.")
    ] = "table",
) -> int:
    """Compares two policies, or two points in time: who gains and loses access.

    Takes one index with policy files (as for `lakewarden plan`), or two indexes. Compares every
    privilege, and every operation by its whole rule, for all users and one who is not stored, on
    every stored entity and without a resource. Exit code 1 if anything changes.

    For example:

        lakewarden pipeline diff lake-index --statements policy.toml --out lake-diff

        lakewarden pipeline diff monday-index friday-index --out week --fail-on gained

        lakewarden pipeline diff lake-index --statements policy.toml --out lake-diff
            --format markdown
    """
    from lakewarden.pipeline.diff.run import (
        STAGES_OF_TIMES,
        difference_of_policies,
        difference_of_times,
    )
    from lakewarden.pipeline.job import names_of

    paths = files.statements
    if (later is None) is not bool(paths):
        raise BadInput("give either --statements FILES, or the folder of a later index")
    if files.only and not paths:
        raise BadInput("needs --statements FILES", where="--only")
    if files.now is not None and not paths:
        raise BadInput("needs --statements FILES", where="--now")
    policy_files = policy_file.find(paths) if paths else []
    parts = [(str(file), policy_file.read(file)) for file in policy_files]
    reads = [index, *policy_files, *([] if later is None else [later])]
    stages = names_of(STAGES_OF_TIMES)
    with running("diff", spark, stages, reads=reads, out=out, tables=tables) as (session, progress):
        if later is None:
            product = difference_of_policies(
                index, parts, out, spark=session, only=files.only, now=files.now, progress=progress
            )
        else:
            product = difference_of_times(index, later, out, spark=session, progress=progress)
    _show(out, product, format, parts)
    return _code(product.report["changes"], fail_on)


def _show(
    out: Location, product: Result, format: Shown, files: Sequence[tuple[str, object]]
) -> None:
    if format == "json":
        show_product(out, product, format)
        return
    changes, version = product.report["changes"], str(product.report["version"])
    most = diff_summary.RESULTS if format == "sarif" else diff_summary.ROWS
    parts, count = diff_summary.parts_of(out / "versions" / version / "parts", most)
    if format == "markdown":
        print(diff_summary.markdown(changes, parts, count))
    elif format == "sarif":
        realm, places = str(product.manifest.facts["realm"]), diff_summary.files_of(files)
        show_json(diff_summary.sarif(parts, realm, __version__, places))
    else:
        show_product(out, product, format, *_lines(changes, parts, count))


def _code(changes: Mapping[str, Any], fail_on: FailOn) -> int:
    """The exit code: 1 if there are changes of that kind, even if only for unknown users.

    >>> nothing = {"gained": {"parts": 0}, "lost": {"parts": 0}}
    >>> lost = {"privilege": {"gained": {"parts": 0}, "lost": {"parts": 2}}, "operation": nothing}
    >>> [_code(lost, one) for one in ("any", "gained", "lost", "nothing")]
    [1, 0, 1, 0]
    """
    signs = {"any": ("gained", "lost"), "nothing": ()}.get(fail_on, (fail_on,))
    return (
        NO
        if any(changes[kind][sign]["parts"] for kind in diff_summary.KINDS for sign in signs)
        else YES
    )


def _lines(changes: Mapping[str, Any], parts: Sequence[diff_summary.Part], count: int) -> list[str]:
    if diff_summary.is_empty(changes):
        return ["", diff_summary.NOTHING]
    lines = [""]
    for kind in diff_summary.KINDS:
        gained, lost = (changes[kind][sign] for sign in ("gained", "lost"))
        lines.append(f"{kind}s: {gained['pairs']:,} gained and {lost['pairs']:,} lost")
    lines += [diff_summary.totals(changes), *(f"  {one}" for one in parts)]
    if count > len(parts):
        lines.append(f"  and {count - len(parts):,} parts more in the table `parts`")
    return lines
