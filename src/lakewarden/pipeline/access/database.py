"""The tables of an export in DuckDB, and the queries of an access report."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from string import Template
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa

from lakewarden.kernel.errors import BadInput, Unavailable, not_installed
from lakewarden.kernel.model import WAYS, Model
from lakewarden.pipeline.access.combinations import Combination
from lakewarden.pipeline.access.schemas import (
    ASSETS,
    CHANGES,
    CLASS_GRANTS,
    CLASS_SETS,
    HOLDERS,
    JOINERS_LEAVERS,
    NEVER_USED,
    OWNER_SETS,
    PEOPLE,
    PEOPLE_LISTS,
    SCHEMAS,
)
from lakewarden.pipeline.export.people import STATED
from lakewarden.pipeline.export.schemas import DUCKDB, VIEWS
from lakewarden.pipeline.full_disk import of_full_disk
from lakewarden.pipeline.review.labels import DOMAINS, TAGS, TERMS, Sensitive
from lakewarden.pipeline.review.question import OPERATION
from lakewarden.pipeline.storage.location import for_duckdb

if TYPE_CHECKING:
    import duckdb

_MEMORY: Final = "4GB"
"""The memory limit of the database; further data is spilled to disk."""

_FOUND_BEFORE: Final = {
    "earlier_assets": ASSETS,
    "earlier_class_sets": CLASS_SETS,
    "earlier_class_grants": CLASS_GRANTS,
    "earlier_holders": HOLDERS,
    "earlier_owner_sets": OWNER_SETS,
    "earlier_people_lists": PEOPLE_LISTS,
    "earlier_people_rows": PEOPLE,
}
"""The tables of an earlier report for comparison: name in SQL, and table."""

_COMPARED: Final = (CHANGES, JOINERS_LEAVERS)

_GAINS: Final = (
    "CREATE TEMPORARY TABLE gains (change VARCHAR, way VARCHAR, user VARCHAR, reason VARCHAR,"
    " is_on_both BOOLEAN, assets BIGINT, example VARCHAR)"
)

_KINDS: Final = {
    **dict.fromkeys(DOMAINS, "domain"),
    **dict.fromkeys(TAGS, "tag"),
    **dict.fromkeys(TERMS, "term"),
}


@dataclass(frozen=True, slots=True)
class Inputs:
    """The inputs of a report: folders of versions, and the options.

    `unused` and `earlier` are folders of the jobs `unused` and `access`, if they are given.
    """

    export: Path
    model: Model
    sensitive: Sensitive
    unused: Path | None = None
    earlier: Path | None = None


@contextmanager
def translate_out_of_space() -> Iterator[None]:
    """Raises `Unavailable` if the database runs out of disk space or memory."""
    import duckdb

    try:
        yield
    except (duckdb.IOException, duckdb.OutOfMemoryException) as error:
        said = str(error)
        raise Unavailable(f"duckdb failed: {of_full_disk(said) or said.splitlines()[0]}") from error


class Database:
    """A database with the tables; closed by `close`."""

    def __init__(self, inputs: Inputs, spill: Path) -> None:
        """`spill`: a folder for data that does not fit into memory."""
        try:
            import duckdb
        except ImportError:
            raise not_installed("duckdb", "analyst") from None
        self._inputs = inputs
        self._database: duckdb.DuckDBPyConnection = duckdb.connect()
        # By default, DuckDB uses four fifths of the machine's memory before it spills.
        self._database.execute("SET temp_directory = ?", [str(spill)])
        self._database.execute("SET memory_limit = ?", [_MEMORY])
        self._declare()

    def close(self) -> None:
        """Closes the connection."""
        self._database.close()

    def _declare(self) -> None:
        self._run(self._placed((self._inputs.export / DUCKDB).read_text("utf-8")))
        self._run(self._placed(_text("digests.sql")))
        self._run((self._inputs.export / VIEWS).read_text("utf-8"))
        self._put("ways", "way VARCHAR, type VARCHAR, matter INTEGER", self._ways())
        acts = [(way, name) for way in WAYS for name in self._inputs.model.access.get(way, ())]
        self._put("acts", "way VARCHAR, operation VARCHAR", acts)
        self._labels()
        self._put("given", "logged BOOLEAN", [(self._inputs.unused is not None,)])
        self._log()
        for name, table in _FOUND_BEFORE.items():
            self._earlier(name, table)

    def _placed(self, text: str) -> str:
        """The text with absolute paths: a search path does not support all characters."""
        folder = for_duckdb(self._inputs.export).replace("'", "''")
        return text.replace("read_parquet('", f"read_parquet('{folder}/")

    def _ways(self) -> list[tuple[str, str, int]]:
        """The matter of each access level and type; raises `BadInput` if it was not exported."""
        model = self._inputs.model
        types = [t for (t,) in self.rows("SELECT DISTINCT type FROM entities WHERE stored")]
        asked = "SELECT name, type, matter FROM questions WHERE kind = ?"
        known = {(name, type): matter for name, type, matter in self.rows(asked, OPERATION)}
        ways = []
        for type in sorted(types):
            for way in WAYS:
                name = model.reaching(way, type)
                if name is None:
                    continue
                if (name, type) not in known:
                    message = f"has no decisions of `{name}`; export with `--operations access`"
                    raise BadInput(message, where=str(self._inputs.export.parents[1]))
                ways.append((way, type, known[name, type]))
        return ways

    def _labels(self) -> None:
        found = self.rows(
            "SELECT DISTINCT r.entity, r.kind, t.type || ':' || t.name FROM relations r"
            " JOIN entities t ON t.id = r.target WHERE list_contains(?, r.kind)",
            list(_KINDS),
        )
        is_sensitive = {
            label: label in self._inputs.sensitive for label in {row[2] for row in found}
        }
        rows = [(id, _KINDS[kind], label, is_sensitive[label]) for id, kind, label in found]
        columns = "entity BIGINT, kind VARCHAR, label VARCHAR, sensitive BOOLEAN"
        self._put("labels", columns, rows)

    def _log(self) -> None:
        if self._inputs.unused is None:
            columns = '"user" VARCHAR, operation VARCHAR, asset VARCHAR, last VARCHAR'
            self._put("log", columns, ())
            return
        self._view("accesses", self._inputs.unused / "accesses")
        self._run(
            "CREATE TEMPORARY TABLE log AS SELECT principal[6:] AS user, operation,"
            " type || ':' || name AS asset, max(last) AS last FROM accesses"
            " WHERE allowed AND recent > 0 AND principal LIKE 'user:%' GROUP BY ALL"
        )

    def _earlier(self, name: str, table: str) -> None:
        if self._inputs.earlier is None:
            self._database.register(name, SCHEMAS[table].empty_table())
            return
        self._view(name, self._inputs.earlier / table)

    def _view(self, name: str, folder: Path) -> None:
        self._database.read_parquet(f"{for_duckdb(folder)}/*.parquet").create_view(name)

    def exists(self, selector: str, value: str) -> bool:
        """Whether the entity that a side of a combination names exists."""
        if selector == "tag" and value.partition(":")[0] not in self._label_types():
            return False
        return bool(self._database.execute(_EXISTS[selector], [value]).fetchall())

    def _label_types(self) -> frozenset[str]:
        declared = self._inputs.model.relations
        known = [declared[kind].targets for kind in (*TAGS, *TERMS) if kind in declared]
        return frozenset().union(*known)

    def unroll(self, combinations: Sequence[Combination]) -> None:
        """Makes the intermediate tables for the report."""
        numbered = list(enumerate(combinations))
        self._put(
            "combinations",
            "number INTEGER, id VARCHAR, title VARCHAR",
            [(number, one.id, one.title) for number, one in numbered],
        )
        self._put(
            "sides",
            "number INTEGER, side VARCHAR, way VARCHAR, selector VARCHAR, value VARCHAR",
            [
                (number, name, side.way, side.selector, side.value)
                for number, one in numbered
                for name, side in one.sides.items()
            ],
        )
        self._put(
            "excepted",
            "number INTEGER, principal VARCHAR",
            [(number, principal) for number, one in numbered for principal in one.excepted],
        )
        sources = Template(_text("sources.sql"))
        self._run(_text("tables.sql"))
        self._run(_text("earlier.sql"))
        self._run(sources.substitute(side="now"))
        self._run(_text("counts.sql"))
        if self._inputs.earlier is not None:
            self._run(sources.substitute(side="earlier"))
            self._compare()

    def _compare(self) -> None:
        self._run(_GAINS)
        gain, gained = (Template(_text(name)) for name in ("gain.sql", "gained.sql"))
        for change, side, other in (("gained", "now", "earlier"), ("lost", "earlier", "now")):
            self._run(gain.substitute(change=change, side=side, other=other))
            self._reasons(f"{change}_pairs", side)
            self._run(gained.substitute(change=change, side=side))

    def _reasons(self, pairs: str, side: str) -> None:
        """Finds the reasons for the pairs of a class and a person in the table `pairs`."""
        reasons = Template(_text("reasons.sql"))
        self._run(reasons.substitute(pairs=pairs, side=side, stated=STATED))

    def pairs(self, which: str) -> int:
        """Chooses the assets (`all`, `sensitive`, `none`) for which every pair is listed.

        Returns the number of pairs of a person and an asset, by access level.
        """
        self._database.execute(_text("paired.sql"), {"which": which})
        counted = (
            "SELECT coalesce(sum(z.users), 0)::BIGINT FROM now_position p"
            " JOIN bundle_size z USING (bundle) WHERE p.entity IN (SELECT entity FROM paired)"
        )
        ((count,),) = self.rows(counted)
        return int(count)

    def table(self, name: str) -> Iterator[pa.RecordBatch]:
        """The rows of a table of the report; none if its input was not given."""
        if (name in _COMPARED and self._inputs.earlier is None) or (
            name == NEVER_USED and self._inputs.unused is None
        ):
            return
        pairs = f"{name}_pairs"
        if pairs in _QUESTIONS:
            self._run(f"CREATE TEMPORARY TABLE {pairs} AS {_QUESTIONS[pairs]}")
            self._reasons(pairs, "now")
        reader = self._database.sql(_QUESTIONS[name]).to_arrow_reader(100_000)
        for batch in reader:
            schema = SCHEMAS[name]
            yield pa.RecordBatch.from_arrays(
                [column.cast(f.type) for column, f in zip(batch.columns, schema, strict=True)],
                schema=schema,
            )

    def rows(self, question: str, *values: object) -> list[tuple[Any, ...]]:
        """The result of a query."""
        return self._database.execute(question, values or None).fetchall()

    def _run(self, text: str) -> None:
        self._database.execute(text)

    def _put(self, name: str, columns: str, rows: Iterable[tuple[Any, ...]]) -> None:
        self._run(f"CREATE TEMPORARY TABLE {name} ({columns})")
        cells = list(zip(*rows, strict=True))
        if cells:
            names = [column.split()[0].strip('"') for column in columns.split(", ")]
            self._database.register("rows_to_put", pa.table(dict(zip(names, cells, strict=True))))
            self._run(f"INSERT INTO {name} FROM rows_to_put")
            self._database.unregister("rows_to_put")


def _text(name: str) -> str:
    return files(__package__).joinpath(name).read_text("utf-8")


def _questions() -> Mapping[str, str]:
    """The queries of `outputs.sql`, by the name above each."""
    parts = ("\n" + _text("outputs.sql")).split("\n-- ")[1:]
    named = (part.partition("\n") for part in parts)
    return {name: question.strip().rstrip(";") for name, _, question in named}


_QUESTIONS: Final = _questions()

_EXISTS: Final = {
    "asset": "SELECT 1 FROM entities WHERE type || ':' || name = ? AND stored"
    " AND type IN (SELECT type FROM ways)",
    "inside": "SELECT 1 FROM entities WHERE type || ':' || name = ? AND last > id",
    "tag": "SELECT 1 FROM entities e WHERE type || ':' || name = ?"
    " AND (stored OR e.id IN (SELECT target FROM relations))",
    "type": "SELECT 1 FROM ways WHERE type = ?",
    "owner": "SELECT 1 FROM principals p WHERE kind || ':' || name = ?"
    " AND (stored OR p.id IN (SELECT principal FROM owners))",
    "principal": "SELECT 1 FROM principals WHERE kind || ':' || name = ? AND stored",
}
"""The queries that check whether the name of a selector exists."""
