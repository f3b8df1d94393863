"""`lakewarden pipeline people`: who sees, reads and changes an asset, from a review."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Annotated, Any, Final

from cyclopts import Parameter

from lakewarden.cli.folder import Folder
from lakewarden.cli.formatting import principal_name
from lakewarden.cli.outcome import NO, YES, note, show_csv, show_json, show_table
from lakewarden.cli.question import AsRows, Way
from lakewarden.kernel.errors import BadInput, Unknown
from lakewarden.kernel.model import WAYS
from lakewarden.kernel.principal import USER, Principal
from lakewarden.pipeline.storage.location import Location

KIND: Final = "review"


def people(
    review: Annotated[Folder, Parameter(help="Folder that `lakewarden pipeline review` wrote.")],
    asset: Annotated[
        str | None,
        Parameter(help="The asset, `type:name` or its name; default: all, page by page."),
    ] = None,
    /,
    *,
    way: Annotated[
        tuple[Way, ...],
        Parameter(help="Only this access level: `see`, `read` or `change`.", show_default=False),
    ] = (),
    sensitive: Annotated[
        bool, Parameter(help="Only assets with a sensitive tag or term.", show_default=False)
    ] = False,
    page: Annotated[int, Parameter(help="Page number.")] = 1,
    limit: Annotated[int, Parameter(help="Number of assets on a page.")] = 20,
    format: AsRows = "table",
) -> int:
    """Shows who sees, reads and changes ASSET, by name, from the output of a review.

    Includes access through statements, ownership and containers. Names up to 25 users for each
    asset and access level, and counts all. Exit code 1 if nobody has access to the assets shown.

    For example:

        lakewarden pipeline people lake-review table:quillmere:lake.people.salaries --way read

        lakewarden pipeline people lake-review --sensitive --page 2
    """
    for option, number in (("--page", page), ("--limit", limit)):
        if number < 1:
            raise BadInput(f"expected 1 or more, got {number}", where=option)
    rows, of = _page_of_people(review, asset, page, limit, sensitive=sensitive)
    ways = tuple(name for name in WAYS if name in way) or WAYS
    if format == "json":
        show_json({"total": of, "assets": [_table(row, ways) for row in rows]})
    elif format == "csv":
        show_csv(("asset", "way", "user"), _pairs(rows, ways))
    elif rows:
        show_table(("asset", "way", "n", "people"), _lines(rows, ways))
    if not of:
        note("no asset has a sensitive tag or term" if sensitive else "there are no assets")
    elif len(rows) < of:
        note(f"page {page} of {-(-of // limit):,}, of {of:,} assets; --page selects another one")
    cut = any(
        row[way] is not None and len(row[way]) < row[f"{way}_n"] for row in rows for way in ways
    )
    if cut:
        note("the list is truncated; `lakewarden who` shows all users")
    return YES if any(row[name] for row in rows for name in ways) else NO


def _page_of_people(
    review: Location, asset: str | None, page: int, limit: int, *, sensitive: bool
) -> tuple[list[dict[str, Any]], int]:
    """The rows of the page, and the number of rows on all pages."""
    import pyarrow as pa
    import pyarrow.compute as pc

    from lakewarden.pipeline.product import read_manifest
    from lakewarden.pipeline.review.people import columns_of, rows_at
    from lakewarden.pipeline.review.schemas import PEOPLE
    from lakewarden.pipeline.version_folder import folder_of

    folder = folder_of(review, read_manifest(review, KIND)) / PEOPLE
    if not folder.exists():
        raise BadInput(
            "comes from an older release, without `people`; run the review again", where=str(review)
        )
    known = columns_of(folder, "type", "name", "sensitive")
    chosen = pa.array([True] * len(known), pa.bool_())
    if sensitive:
        chosen = pc.greater(pc.list_value_length(known.column("sensitive")), 0)
    if asset is not None:
        type, _, name = asset.partition(":")
        is_typed = pc.and_(
            pc.equal(known.column("type"), type), pc.equal(known.column("name"), name)
        )
        chosen = pc.and_(chosen, pc.or_(is_typed, pc.equal(known.column("name"), asset)))
    places = pc.indices_nonzero(chosen).to_pylist()
    if asset is not None and not places:
        raise Unknown("asset", asset, "expected `type:name`, or a name, that the review has")
    return rows_at(folder, places[(page - 1) * limit : page * limit]), len(places)


def _names(row: Mapping[str, Any], way: str) -> list[str]:
    return [principal_name(Principal(USER, name)) for name in row[way] or ()]


def _table(row: Mapping[str, Any], ways: tuple[str, ...]) -> dict[str, Any]:
    """An asset as JSON; null for an access level that it does not have."""
    of = {
        way: None if row[way] is None else {"total": row[f"{way}_n"], "users": _names(row, way)}
        for way in ways
    }
    return {"asset": f"{row['type']}:{row['name']}", "sensitive": row["sensitive"], **of}


def _pairs(rows: list[dict[str, Any]], ways: tuple[str, ...]) -> Iterator[tuple[str, str, str]]:
    for row in rows:
        for way in ways:
            for name in _names(row, way):
                yield f"{row['type']}:{row['name']}", way, name


def _lines(rows: list[dict[str, Any]], ways: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
    """One line per access level; the first one starts with the asset."""
    for row in rows:
        asset = f"{row['type']}:{row['name']}"
        for way in ways:
            if row[way] is not None:
                names, count = _names(row, way), row[f"{way}_n"]
                more = f" and {count - len(names):,} more" if count > len(names) else ""
                yield asset, way, f"{count:,}", (", ".join(names) or "nobody") + more
                asset = ""
