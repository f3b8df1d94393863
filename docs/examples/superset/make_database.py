"""Copies the tables of an access report into one file of DuckDB, which a BI tool opens.

    python make_database.py lake-access access.duckdb

The file appears whole: readers of the one before are not disturbed.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

import duckdb


def main(report: Path, file: Path) -> None:
    """Writes the file. Lists become texts, which every tool can filter."""
    version = json.loads((report / "manifest.json").read_text("utf-8"))["version"]
    new = file.with_name(f".{file.name}.new")
    new.unlink(missing_ok=True)
    with duckdb.connect(str(new)) as database:
        for folder in sorted((report / "versions" / str(version)).iterdir()):
            if not list(folder.glob("*.parquet")):
                continue
            rows = database.read_parquet(str(folder / "*.parquet"))
            columns = ", ".join(
                f"array_to_string({name}, ', ') AS {name}" if str(type).endswith("[]") else name
                for name, type in zip(rows.columns, rows.types, strict=True)
            )
            rows.project(columns).create(folder.name)
    new.replace(file)


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
