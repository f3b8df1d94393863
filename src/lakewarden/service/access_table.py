"""Who reaches one asset, as a table: rows of people, columns of paths, with the number allowed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from lakewarden.kernel.errors import BadInput
from lakewarden.service.actor import Actor
from lakewarden.service.asset_paths import AssetPath, AssetQuestion, asset_paths, open_paths
from lakewarden.service.asset_rows import ROWS, AssetRow
from lakewarden.service.cancellation import checked
from lakewarden.service.control import Denied
from lakewarden.service.link import Asset
from lakewarden.service.page_size import PAGE_ROWS, check_page_size
from lakewarden.service.state import State

MAX_ROWS: Final = 500
"""The most rows in one answer."""


@dataclass(frozen=True, slots=True)
class CountedRow:
    """A row, and the number of its people for whom each path is open."""

    row: AssetRow
    counts: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class ClosedRows:
    """The rows in which nobody reaches the asset: their number, and the number of their people."""

    rows: int
    people: int


@dataclass(frozen=True, slots=True)
class AccessTable:
    """The rows in which somebody reaches the asset, ordered by the number of such people.

    `total` is their number, `rows` is a page, `after` is the place of its last row if more follow.
    `people` is how many of all `known` people reach it, `counts` is by path.
    """

    assets: tuple[Asset, ...]
    paths: tuple[AssetPath, ...]
    people: int
    known: int
    counts: tuple[int, ...]
    total: int
    rows: tuple[CountedRow, ...]
    after: int | None
    closed: ClosedRows
    left_out: tuple[str, ...]
    revision: int


def access_table(
    state: State,
    actor: Actor,
    question: AssetQuestion,
    now: float,
    *,
    by: str,
    size: int = PAGE_ROWS,
    skip: int = 0,
) -> AccessTable | Denied:
    """Who reaches the asset, by a kind of rows (`ROWS`). Raises `BadInput` that names the field."""
    if by not in ROWS:
        raise BadInput(f"expected one of: {', '.join(ROWS)}; got `{by}`", where="rows")
    check_page_size(size, MAX_ROWS, where="limit")
    paths = asset_paths(state, actor, question, now)
    if isinstance(paths, Denied):
        return paths
    open_to = {
        name: frozenset(path for path, _ in paths)
        for name, paths in open_paths(state, paths.paths, now).items()
    }
    realms = sorted({asset.realm for asset in paths.assets})
    rows = ROWS[by]([state.realm(realm) for realm in realms])
    reaching = {row.key: sum(name in open_to for name in row.people) for row in checked(rows)}
    open_rows = [row for row in rows if reaching[row.key]]
    open_rows.sort(key=lambda row: (-reaching[row.key], row.key))
    closed = [row for row in rows if not reaching[row.key]]
    on_page = open_rows[skip : skip + size]

    def counts(names: tuple[str, ...]) -> tuple[int, ...]:
        path_sets = [open_to.get(name, frozenset()) for name in names]
        return tuple(sum(path in paths for paths in path_sets) for path in paths.paths)

    return AccessTable(
        paths.assets,
        paths.paths,
        len(open_to),
        len({name for row in rows for name in row.people}),
        counts(tuple(open_to)),
        len(open_rows),
        tuple(CountedRow(row, counts(row.people)) for row in checked(on_page, every=1)),
        skip + size if len(open_rows) > skip + size else None,
        ClosedRows(len(closed), len({name for row in closed for name in row.people})),
        paths.left_out,
        state.revision,
    )
