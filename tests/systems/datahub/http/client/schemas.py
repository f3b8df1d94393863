"""Prints the aspects and keys in the Avro schemas of acryl-datahub.

Aspects: record name, and whether they are time series. Keys, by type: their aspect and its fields,
and the other aspects of the type.

Run by the Python that has the client installed.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import datahub.metadata  # type: ignore[import-not-found]

found: dict[str, tuple[str, bool]] = {}
keys: dict[str, tuple[str, list[str], list[str]]] = {}


def walk(schema: Any, namespace: str) -> None:
    """Records every record that is declared as an aspect."""
    if isinstance(schema, list):
        for one in schema:
            walk(one, namespace)
    if not isinstance(schema, dict):
        return
    namespace = schema.get("namespace", namespace)
    if "Aspect" in schema:
        aspect = schema["Aspect"]
        record = f"{namespace}.{schema['name']}".replace(".pegasus2avro", "")
        found[aspect["name"]] = (record, aspect.get("type") == "timeseries")
        if "keyForEntity" in aspect:
            names = [one["name"] for one in schema["fields"]]
            keys[aspect["keyForEntity"]] = (aspect["name"], names, aspect.get("entityAspects", []))
    for one in schema.values():
        walk(one, namespace)


if __name__ == "__main__":
    for file in (Path(datahub.metadata.__file__).parent / "schemas").glob("*.avsc"):
        walk(json.loads(file.read_text()), "")
    print(json.dumps({"aspects": found, "keys": keys}))
