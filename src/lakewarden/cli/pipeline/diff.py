"""`lakewarden pipeline diff`: who gains and loses what, under other policies or since then."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Final, Literal

from cyclopts import Parameter

from lakewarden.cli import policy_file
from lakewarden.cli.formatting import entity_text, some
from lakewarden.cli.outcome import NO, YES
from lakewarden.cli.pipeline.ingest_sources import LOCAL, Spark
from lakewarden.cli.pipeline.product import show_product
from lakewarden.cli.pipeline.progress import running
from lakewarden.cli.question import As
from lakewarden.kernel.entity import Entity
from lakewarden.kernel.errors import BadInput

FailOn = Literal["any", "gained", "lost", "nothing"]

PARTS_SHOWN: Final = 20
NAMES_SHOWN: Final = 4
_KINDS: Final = ("privilege", "operation")
_SHOWN: Final = (
    "gained",
    "kind",
    "name",
    "type",
    "principals",
    "statements",
    "n_users",
    "others",
    "entities",
    "example",
    "pairs",
)


@Parameter("*")
@dataclass(frozen=True)
class Files:
    """The policy that is put in the place of the index's."""

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
            help="Time at which validity of statements is evaluated, in seconds; default: now."
        ),
    ] = None


NO_FILES: Final = Files()


def diffing(
    index: Annotated[Path, Parameter(help="Folder that `lakewarden pipeline index` wrote.")],
    later: Annotated[Path | None, Parameter(help="Another such folder, of a later time.")] = None,
    /,
    *,
    out: Annotated[Path, Parameter(help="Output folder, created if missing.")],
    files: Files = NO_FILES,
    fail_on: Annotated[FailOn, Parameter(help="Exit with 1 for these changes.")] = "any",
    spark: Spark = LOCAL,
    format: As = "table",
) -> int:
    """Compares two policies, or two points in time: who gains and loses access.

    Takes one index with policy files (as for `lakewarden plan`), or two indexes. Compares every
    privilege, and every operation by its whole rule, for all users and one who is not stored, on
    every stored entity and without a resource. Exit code 1 if anything changes.

    For example:

        lakewarden pipeline diff lake-index --statements policy.toml --out lake-diff

        lakewarden pipeline diff monday-index friday-index --out week --fail-on gained
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
    with running("diff", spark, names_of(STAGES_OF_TIMES)) as (session, progress):
        if later is None:
            product = difference_of_policies(
                index, parts, out, spark=session, only=files.only, now=files.now, progress=progress
            )
        else:
            product = difference_of_times(index, later, out, spark=session, progress=progress)
    show_product(out, product, format, *_lines(out, product.report))
    return _code(product.report["changes"], fail_on)


def _code(changes: Mapping[str, Any], fail_on: FailOn) -> int:
    """Whether anything of the kind changes, be it only for somebody unknown.

    >>> nothing = {"gained": {"parts": 0}, "lost": {"parts": 0}}
    >>> lost = {"privilege": {"gained": {"parts": 0}, "lost": {"parts": 2}}, "operation": nothing}
    >>> [_code(lost, one) for one in ("any", "gained", "lost", "nothing")]
    [1, 0, 1, 0]
    """
    signs = {"any": ("gained", "lost"), "nothing": ()}.get(fail_on, (fail_on,))
    return NO if any(changes[kind][sign]["parts"] for kind in _KINDS for sign in signs) else YES


def _lines(out: Path, report: Mapping[str, Any]) -> Iterator[str]:
    changes = report["changes"]
    yield ""
    if _code(changes, "any") == YES:
        yield "nobody gains or loses anything"
        return
    for kind in _KINDS:
        gained, lost = (changes[kind][sign] for sign in ("gained", "lost"))
        yield f"{kind}s: {gained['pairs']:,} gained and {lost['pairs']:,} lost"
    others = ", and whoever is not stored" if changes["others"] else ""
    yield f"by {changes['users']:,} users{others}, on {changes['entities']:,} entities"
    yield from _largest(out / "versions" / str(report["version"]) / "parts")


def _largest(folder: Path) -> Iterator[str]:
    """The parts with the most pairs, of privileges."""
    import pyarrow.compute as pc
    import pyarrow.parquet as pq

    rows = pq.read_table(folder, columns=list(_SHOWN), filters=pc.field("kind") == _KINDS[0])
    order = [(name, "ascending") for name in ("gained", "name", "type", "example")]
    largest = rows.sort_by([("pairs", "descending"), *order]).slice(0, PARTS_SHOWN).to_pylist()
    for row in largest:
        yield f"  {_part(row)}"
    if rows.num_rows > len(largest):
        yield f"  and {rows.num_rows - len(largest):,} parts more in the table `parts`"


def _part(row: Mapping[str, Any]) -> str:
    """One part in words.

    >>> _part({"gained": True, "name": "READ", "type": "dataset", "n_users": 1, "others": True,
    ...        "entities": 2, "example": "s.t", "principals": ["role:x"], "statements": ["a"]})
    '+ 1 user, whoever is not stored gain READ on 2 × dataset, such as dataset:s.t (role:x by a)'
    """
    count = row["n_users"]
    who = [f"{count:,} user{'' if count == 1 else 's'}"] if count else []
    who += ["whoever is not stored"] * bool(row["others"])
    such = "" if row["entities"] == 1 else f"{row['entities']:,} × {row['type']}, such as "
    on = f"{such}{entity_text(Entity(row['type'], row['example']))}"
    by = some(row["statements"], NAMES_SHOWN) if row["statements"] else ""
    through = some(row["principals"], NAMES_SHOWN) if row["principals"] else "owners"
    reason = f"{through} by {by}" if by else "by owners, members or places"
    sign, verb = ("+", "gain") if row["gained"] else ("-", "lose")
    return f"{sign} {', '.join(who)} {verb} {row['name']} on {on} ({reason})"
