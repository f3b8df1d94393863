"""Logs with one bad place: the file is refused, or only the line is set aside with a reason."""

from __future__ import annotations

import csv
import gzip
import io
import json
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Final, NamedTuple

import pytest

from lakewarden.kernel.errors import BadInput
from lakewarden.pipeline.ingest.files import File
from lakewarden.pipeline.unused.access_record import LoggedAccess, Refused
from lakewarden.pipeline.unused.log_formats import USAGE_COLUMNS, read
from lakewarden.pipeline.unused.mapping import read_mappings
from lakewarden.service.system import load_system
from tests.pipeline.ingest.bad_places import CELLS, FILES, VALUES, spoiled_text
from tests.pipeline.unused import test_log_formats as formats
from tests.pipeline.unused import test_warehouse_logs as warehouses

GRAVITINO = load_system("gravitino")


class Sample(NamedTuple):
    """A log as a file of this name, whose lines are independent."""

    kind: str
    name: str
    text: str
    mapping: str = ""


def _lines(*records: object) -> str:
    return "".join(f"{json.dumps(record)}\n" for record in records)


def _table(*rows: Sequence[object]) -> str:
    out = io.StringIO()
    csv.writer(out, lineterminator="\n").writerows(rows)
    return out.getvalue()


_ACCESS = {
    "QUERY_START_TIME": "2024-03-01 08:00:00.000 +0000",
    "USER_NAME": "ANA",
    "DIRECT_OBJECTS_ACCESSED": warehouses.DIRECT[:1],
    "OBJECTS_MODIFIED": warehouses.MODIFIED,
}
_CELLS = [value if isinstance(value, str) else json.dumps(value) for value in _ACCESS.values()]
_CALL = {"who": "ana", "verb": "SELECT", "db": "c.s", "tab": "t", "at": 1709251200, "n": 1}
_MAPPED: Final = formats.CSV.replace("state", "how")
_USED = ("2024-03-01", "lake", "ana", "table.load", "table", "lk:c.s.t", 3)
_QUERY = {**formats.DONE, "inputs": [formats.TABLE]}
_LOGGED = "AUDIT: SESSION,1,1,READ,SELECT,TABLE,public.orders,select,<none>"

SAMPLES: Final = (
    Sample("csv", "log.csv", _table([*_CALL, "how"], *[[*_CALL.values(), "OK"]] * 3), _MAPPED),
    Sample(
        "json",
        "log.json",
        _lines(*[_CALL | {"how": "OK"}] * 3),
        _MAPPED.replace("[csv", "[json"),
    ),
    Sample("usage", "log.csv", _table(USAGE_COLUMNS.names, *[_USED] * 3)),
    Sample("trino", "log.json", _lines(*[_QUERY] * 3)),
    Sample("snowflake", "log.json", _lines(*[_ACCESS] * 3)),
    Sample("snowflake", "log.csv", _table([*_ACCESS], *[_CELLS] * 3)),
    Sample("bigquery", "log.json", _lines(*[warehouses.entry("tableDataRead")] * 3)),
    Sample("postgresql", "log.csv", _table(*[warehouses.csvlog(_LOGGED)] * 3)),
    Sample("ranger", "log.json", _lines(*[warehouses.audit("SELECT", "shop/orders")] * 3)),
    Sample(
        "spark",
        "log.json",
        _lines(
            formats.STARTED, *[formats.planned(formats.node("Scan parquet spark_catalog.s.t"))] * 3
        ),
    ),
)


def said(sample: Sample, content: bytes, folder: Path, packed: str = "") -> Counter[str]:
    """The number of times that each access, or an error, was read."""
    folder.mkdir()
    path, mapping = folder / f"{sample.name}{packed}", folder / "mapping.toml"
    path.write_bytes(content)
    mapping.write_text(sample.mapping, "utf-8")
    mappings = read_mappings(mapping, [sample.kind], GRAVITINO, ["lk"])
    return _counted(read(sample.kind, [File(path, "log")], mappings, "lake"))


def _counted(found: Iterable[LoggedAccess | Refused]) -> Counter[str]:
    counts: Counter[str] = Counter()
    for one in found:
        assert one.place.startswith("log: "), one
        if isinstance(one, Refused):
            assert one.detail
            counts["refused"] += 1
        else:
            counts[str(one._replace(place=""))] += 1
    return counts


def _read_or_refused(sample: Sample, content: bytes, folder: Path) -> Counter[str] | None:
    """Like `said`; None for a file that is refused with its name."""
    try:
        return said(sample, content, folder)
    except BadInput as error:
        if "log" not in error.where:
            raise
        return None


def _ends(sample: Sample, kinds: Sequence[str], turns: Sequence[int], folder: Path) -> None:
    good = said(sample, sample.text.encode(), folder / "good")
    assert "refused" not in good
    lines = max(good.values())
    for number, (kind, turn) in enumerate((kind, turn) for kind in kinds for turn in turns):
        bad = spoiled_text(sample.name, sample.text, kind, turn)
        found = _read_or_refused(sample, bad, folder / str(number))
        if found is None:
            continue
        # The header of a table, or the user of an application, applies to all lines.
        of_all = sample.name.endswith(".csv") or sample.kind == "spark"
        if kind not in FILES and not of_all:
            assert all(found[act] >= lines - 1 for act in good), (kind, turn, found)
        assert all(found[act] <= 2 * lines for act in found), (kind, turn, found)


@pytest.mark.parametrize("sample", SAMPLES, ids=lambda sample: f"{sample.kind}-{sample.name}")
def test_a_bad_place_refuses_its_file_or_its_line(sample: Sample, tmp_path: Path) -> None:
    _ends(sample, (*CELLS, *VALUES, *FILES), range(0, 90, 17), tmp_path)


@pytest.mark.nightly
@pytest.mark.parametrize("sample", SAMPLES, ids=lambda sample: f"{sample.kind}-{sample.name}")
def test_each_bad_place_refuses_its_file_or_its_line(sample: Sample, tmp_path: Path) -> None:
    _ends(sample, (*CELLS, *VALUES, *FILES), range(120), tmp_path)


_PACKED: Final = gzip.compress(SAMPLES[3].text.encode() * 200, mtime=0)


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"\x1f\x8b",
        _PACKED[: len(_PACKED) // 2],
        _PACKED[:40] + b"\xff" * 8 + _PACKED[48:],
        _PACKED[:-8] + b"\0" * 8,
        _PACKED + b"behind",
        SAMPLES[3].text.encode(),
    ],
    ids=["empty", "header", "half", "a wrong byte", "a wrong sum", "more behind", "not packed"],
)
def test_a_damaged_packed_log_is_refused(content: bytes, tmp_path: Path) -> None:
    if not content:
        assert not said(SAMPLES[3], content, tmp_path / "log", ".gz")
        return
    with pytest.raises(BadInput, match=r"log\.json\.gz: cannot be read"):
        said(SAMPLES[3], content, tmp_path / "log", ".gz")
