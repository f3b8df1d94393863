"""Columns and indexes of a table, and the updates that change them.

Types, default values and transforms are stored unchanged; only their structure is validated. A
column whose name is valid for an object is an entity too, so it can have tags.
SOURCE: gravitino reference 1.1 and 4.3; apache/gravitino:common/src/main/java/org/apache/gravitino/json/JsonUtils.java@5a6b5ae772d5 (positions).
"""  # noqa: E501 — one source, one line

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, cast

from lakewarden.names.canonical import lower_word, quoted
from lakewarden.systems.gravitino.http.bodies import Body, Json, present
from lakewarden.systems.gravitino.http.errors import Failure, illegal, no_such
from lakewarden.systems.gravitino.http.updates import Draft, Update

MOST_COLUMNS: Final = 5_000
"""The maximum number of columns of one table."""

Typed = str | Json
"""A data type: `decimal(10,2)`, or an object for a composite type."""

Position = str | dict[str, str] | None
"""`first`, `default`, or `{"after": COLUMN}`."""


class Column(Body):
    """A column in a request."""

    name: str
    type: Typed
    comment: str | None = None
    nullable: bool = True
    auto_increment: bool = False
    default_value: object = None


class Index(Body):
    """An index in a request."""

    index_type: str
    field_names: list[list[str]]
    name: str | None = None
    properties: dict[str, str] | None = None


class AddColumn(Update, tag="addColumn"):
    """Adds a column."""

    field_name: list[str]
    type: Typed
    comment: str | None = None
    position: Position = None
    nullable: bool = True
    auto_increment: bool = False
    default_value: object = None


class DeleteColumn(Update, tag="deleteColumn"):
    """Removes a column."""

    field_name: list[str]
    if_exists: bool = False


class RenameColumn(Update, tag="renameColumn"):
    """Renames a column."""

    old_field_name: list[str]
    new_field_name: str


class UpdateDefault(Update, tag="updateColumnDefaultValue"):
    """Changes the default value of a column."""

    field_name: list[str]
    new_default_value: object = None


class UpdateType(Update, tag="updateColumnType"):
    """Changes the type of a column."""

    field_name: list[str]
    new_type: Typed


class UpdateColumnComment(Update, tag="updateColumnComment"):
    """Changes the comment on a column."""

    field_name: list[str]
    new_comment: str | None = None


class UpdatePosition(Update, tag="updateColumnPosition"):
    """Moves a column."""

    field_name: list[str]
    new_position: Position


class UpdateNullability(Update, tag="updateColumnNullability"):
    """Changes whether a column may be null."""

    field_name: list[str]
    nullable: bool


class UpdateAutoIncrement(Update, tag="updateColumnAutoIncrement"):
    """Changes whether a column increments automatically."""

    field_name: list[str]
    auto_increment: bool


class AddIndex(Update, tag="addTableIndex"):
    """Adds an index."""

    index: Index


class DeleteIndex(Update, tag="deleteTableIndex"):
    """Removes an index."""

    name: str
    if_exists: bool = False


COLUMN_UPDATES = (
    AddColumn
    | DeleteColumn
    | RenameColumn
    | UpdateDefault
    | UpdateType
    | UpdateColumnComment
    | UpdatePosition
    | UpdateNullability
    | UpdateAutoIncrement
    | AddIndex
    | DeleteIndex
)


def columns_of(body: Json) -> list[Json]:
    """The columns in a table's document; a mutable part of the document."""
    return cast("list[Json]", body.setdefault("columns", []))


def column(body: Column) -> Json:
    """A column in its stored and shown form; raises `Failure` 400."""
    if not body.name.strip():
        raise illegal("the name of a column is blank")
    _check_type(body.type)
    return present(
        name=body.name,
        type=body.type,
        comment=body.comment,
        nullable=body.nullable,
        autoIncrement=body.auto_increment,
        defaultValue=body.default_value,
    )


def columns(bodies: Sequence[Column]) -> list[Json]:
    """Columns in their stored form; raises `Failure` 400 for too many or for duplicate names."""
    if len(bodies) > MOST_COLUMNS:
        raise illegal(f"{len(bodies)} columns, at most {MOST_COLUMNS} are allowed")
    names: set[str] = set()
    for body in bodies:
        if body.name in names:
            raise illegal(f"there are two columns named {quoted(body.name)}")
        names.add(body.name)
    return [column(body) for body in bodies]


def index(body: Index) -> Json:
    """An index in its stored and shown form."""
    return present(
        indexType=lower_word(body.index_type),
        name=body.name,
        fieldNames=body.field_names,
        properties=body.properties,
    )


def apply_column(draft: Draft, update: object) -> bool:
    """Applies one of `COLUMN_UPDATES` to a table; returns False for any other update."""
    columns = columns_of(draft.body)
    match update:
        case AddColumn():
            _add(columns, update)
        case DeleteColumn(field_name=path, if_exists=lenient):
            if _delete(columns, path, lenient=lenient):
                draft.renamed.append((_name(path), None))
        case RenameColumn(old_field_name=path, new_field_name=name):
            _rename(columns, path, name)
            draft.renamed.append((_name(path), name))
        case UpdateDefault(field_name=path, new_default_value=value):
            _set(_column_at(columns, path), "defaultValue", value)
        case UpdateType(field_name=path, new_type=type):
            _check_type(type)
            _column_at(columns, path)["type"] = type
        case UpdateColumnComment(field_name=path, new_comment=comment):
            _set(_column_at(columns, path), "comment", comment)
        case UpdatePosition(field_name=path, new_position=position):
            moved = _column_at(columns, path)
            columns.remove(moved)
            _insert_column(columns, moved, position)
        case UpdateNullability(field_name=path, nullable=nullable):
            _column_at(columns, path)["nullable"] = nullable
        case UpdateAutoIncrement(field_name=path, auto_increment=counts):
            _column_at(columns, path)["autoIncrement"] = counts
        case AddIndex() | DeleteIndex():
            _change_index(draft.body, update)
        case _:
            return False
    return True


def _add(columns: list[Json], update: AddColumn) -> None:
    name = _name(update.field_name)
    if any(column["name"] == name for column in columns):
        raise illegal(f"there is a column {quoted(name)} already")
    if len(columns) >= MOST_COLUMNS:
        raise illegal(f"at most {MOST_COLUMNS} columns are allowed")
    new = Column(
        name,
        update.type,
        update.comment,
        update.nullable,
        update.auto_increment,
        update.default_value,
    )
    _insert_column(columns, column(new), update.position)


def _delete(columns: list[Json], path: list[str], *, lenient: bool) -> bool:
    """Removes a column; returns whether it existed."""
    name = _name(path)
    if lenient and all(column["name"] != name for column in columns):
        return False
    removed = _column_at(columns, path)
    if len(columns) == 1:
        raise illegal("the only column of a table cannot be deleted")
    columns.remove(removed)
    return True


def _rename(columns: list[Json], path: list[str], name: str) -> None:
    old = _column_at(columns, path)
    if not name.strip():
        raise illegal("the name of a column is blank")
    if any(column["name"] == name and column is not old for column in columns):
        raise illegal(f"there is a column {quoted(name)} already")
    old["name"] = name


def _change_index(body: Json, update: AddIndex | DeleteIndex) -> None:
    indexes = cast("list[Json]", body.setdefault("indexes", []))
    if isinstance(update, AddIndex):
        if any(index.get("name") == update.index.name for index in indexes):
            raise illegal(f"there is an index {quoted(update.index.name or '')} already")
        indexes.append(index(update.index))
        return
    remaining = [index for index in indexes if index.get("name") != update.name]
    if len(remaining) == len(indexes) and not update.if_exists:
        raise illegal(f"there is no index {quoted(update.name)}")
    body["indexes"] = remaining


def _insert_column(columns: list[Json], new: Json, position: Position) -> None:
    match position:
        case None:
            columns.append(new)
        case str() if lower_word(position) == "first":
            columns.insert(0, new)
        case str() if lower_word(position) == "default":
            columns.append(new)
        case {"after": name}:
            columns.insert(columns.index(_column_at(columns, [name])) + 1, new)
        case _:
            raise illegal('a position is `first`, `default` or `{"after": COLUMN}`')


def _column_at(columns: list[Json], path: list[str]) -> Json:
    name = _name(path)
    for column in columns:
        if column["name"] == name:
            return column
    raise _missing(name)


def _missing(name: str) -> Failure:
    return no_such("column", name)


def _name(path: list[str]) -> str:
    """The column of a field name; fields within a column are not distinguished."""
    if len(path) != 1:
        raise illegal(f"expected a field name of one part, got {len(path)}")
    return path[0]


def _set(column: Json, key: str, value: object) -> None:
    column.pop(key, None)
    if value is not None:
        column[key] = value


def _check_type(type: Typed) -> None:
    if isinstance(type, str):
        if not type.strip():
            raise illegal("the type of a column is blank")
    elif not isinstance(type.get("type"), str):
        raise illegal("a type that is an object says its `type`")
