"""Every setting of the server, from the types that read them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from lakewarden.config.settings import PREFIX, Settings
from scripts.docs_site.reference.markdown import (
    Schema,
    code,
    default_of,
    paragraphs,
    table,
    type_of,
)

HEAD = """# Settings

Written from the types that read the settings. [Server](../serving.md#settings) explains those
that belong together.

A setting is a key of the file that `lakewarden serve --config` names, or a variable: `port` is
`LAKEWARDEN_PORT`, `issuer` below `[oidc]` is `LAKEWARDEN_OIDC__ISSUER`. An option of `serve` wins
over a variable, a variable over the file. An unknown key is an error. `REALM` stands for the name
of a realm.
"""
COLUMNS = ("Key", "Takes", "Default", "Meaning")


def page() -> str:
    """The page: the keys outside of tables, then a section for each table."""
    schema = Settings.model_json_schema()
    return "\n".join([HEAD, *_section("", schema, schema["$defs"])])


def _section(path: str, schema: Schema, types: Mapping[str, Schema]) -> Iterator[str]:
    """A table of the file, and its subtables."""
    rows, below = [], []
    for name, field in schema["properties"].items():
        inner = field.get("$ref") or _of_realms(field)
        if inner:
            realm = "" if "$ref" in field else ".REALM"
            below.append((f"{path}{name}{realm}", types[inner.rpartition("/")[2]]))
        else:
            row = (code(name), type_of(field), default_of(field), field.get("description", ""))
            rows.append(row)
    if path:
        variable = f"{PREFIX}{path.rstrip('.').replace('.', '__').upper()}"
        yield f"## `[{path.rstrip('.')}]`\n\n{paragraphs(schema.get('description'))}\n"
        yield f"Variables begin with `{variable}__`.\n" if "REALM" not in path else ""
    yield table(COLUMNS, rows)
    for name, inside in below:
        yield from _section(f"{name}.", inside, types)


def _of_realms(field: Schema) -> str:
    inner = field.get("additionalProperties")
    return str(inner.get("$ref", "")) if isinstance(inner, Mapping) else ""
