"""Commands that write a table: the acts that each requires on which names."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from google.protobuf.message import Message
from pyspark.sql.connect.proto import commands_pb2 as commands
from pyspark.sql.connect.proto import expressions_pb2 as expressions

from lakewarden.gateway import identifiers, permitted
from lakewarden.gateway.access import Access, Name
from lakewarden.gateway.errors import Denied
from lakewarden.gateway.following import TABLE, CatalogChange, Exists
from lakewarden.gateway.session import Session

_V1: Final = commands.WriteOperation
_TABLE: Final = _V1.SaveTable
_V2: Final = commands.WriteOperationV2

_IGNORE: Final = _V1.SAVE_MODE_IGNORE
_CREATE: Final = ("CreateTable",)
_REPLACE: Final = ("CreateTable", "DropTable")
_ADD: Final = ("InsertIntoTable",)
_OVERWRITE: Final = ("InsertIntoTable", "DeleteFromTable")

_BY_METHOD: Final[Mapping[tuple[int, int], tuple[str, ...]]] = {
    (_TABLE.TABLE_SAVE_METHOD_SAVE_AS_TABLE, _V1.SAVE_MODE_UNSPECIFIED): _CREATE,
    (_TABLE.TABLE_SAVE_METHOD_SAVE_AS_TABLE, _V1.SAVE_MODE_ERROR_IF_EXISTS): _CREATE,
    (_TABLE.TABLE_SAVE_METHOD_SAVE_AS_TABLE, _V1.SAVE_MODE_IGNORE): _CREATE,
    (_TABLE.TABLE_SAVE_METHOD_SAVE_AS_TABLE, _V1.SAVE_MODE_APPEND): _ADD,
    (_TABLE.TABLE_SAVE_METHOD_SAVE_AS_TABLE, _V1.SAVE_MODE_OVERWRITE): _REPLACE,
    (_TABLE.TABLE_SAVE_METHOD_INSERT_INTO, _V1.SAVE_MODE_UNSPECIFIED): _ADD,
    (_TABLE.TABLE_SAVE_METHOD_INSERT_INTO, _V1.SAVE_MODE_ERROR_IF_EXISTS): _ADD,
    (_TABLE.TABLE_SAVE_METHOD_INSERT_INTO, _V1.SAVE_MODE_APPEND): _ADD,
    (_TABLE.TABLE_SAVE_METHOD_INSERT_INTO, _V1.SAVE_MODE_OVERWRITE): _OVERWRITE,
}
"""For `WriteOperation`, by method and mode. Spark's `insertInto` appends in any other mode."""

_BY_MODE: Final[Mapping[int, tuple[str, ...]]] = {
    _V2.MODE_CREATE: _CREATE,
    _V2.MODE_APPEND: _ADD,
    _V2.MODE_OVERWRITE_PARTITIONS: _OVERWRITE,
    _V2.MODE_REPLACE: _REPLACE,
    _V2.MODE_CREATE_OR_REPLACE: _REPLACE,
}
"""For `WriteOperationV2`. An overwrite with a condition is not permitted, so none is here."""

_DO: Final = expressions.MergeAction
_CHANGES: Final[Mapping[int, str]] = {
    _DO.ACTION_TYPE_DELETE: "DeleteFromTable",
    _DO.ACTION_TYPE_UPDATE: "UpdateTable",
    _DO.ACTION_TYPE_UPDATE_STAR: "UpdateTable",
}
_ADDITIONS: Final[Mapping[int, str]] = {
    _DO.ACTION_TYPE_INSERT: "InsertIntoTable",
    _DO.ACTION_TYPE_INSERT_STAR: "InsertIntoTable",
}
_BY_CLAUSE: Final[Mapping[str, Mapping[int, str]]] = {
    "match_actions": _CHANGES,
    "not_matched_actions": _ADDITIONS,
    "not_matched_by_source_actions": _CHANGES,
}
"""For `MergeIntoTableCommand`, by clause and action."""


def check_write(
    command: commands.Command, session: Session, access: Access, exists: Exists
) -> CatalogChange | None:
    """Completes the name of the table; raises `Denied` unless the user may write it in this way.

    Returns the created table if the realm must follow it.
    """
    if command.HasField("write_operation"):
        operation = command.write_operation
        acts = _BY_METHOD.get((operation.table.save_method, operation.mode))
        if not operation.HasField("table") or acts is None:
            raise Denied("only tables can be written, in a mode that is known here")
        check_format(operation.source)
        name = session.qualified(identifiers.split(operation.table.table_name))
        operation.table.table_name = identifiers.join(name)
    else:
        second = command.write_operation_v2
        acts = _BY_MODE.get(second.mode)
        if acts is None:
            raise Denied("a table can be written only in a mode that is known here")
        check_format(second.provider)
        name = session.qualified(identifiers.split(second.table_name))
        second.table_name = identifiers.join(name)
    _check_acts(acts, name, access)
    if acts != _CREATE or not access.follows:
        return None
    if command.HasField("write_operation") and command.write_operation.mode == _IGNORE:
        if exists(TABLE, name):
            return None
        # It must fail if the table exists: otherwise the creator is unknown.
        command.write_operation.mode = _V1.SAVE_MODE_ERROR_IF_EXISTS
    return CatalogChange(TABLE, created=name)


def check_merge(
    merge: commands.MergeIntoTableCommand, session: Session, access: Access
) -> Iterator[Message]:
    """Completes the name of the table; raises `Denied` unless the user may change it in this way.

    Yields the parts that the merge reads: its source, its conditions, and the values that it
    writes, which must still be resolved.
    """
    if not merge.HasField("source_table_plan") or not merge.HasField("merge_condition"):
        raise Denied("a merge has a source and a condition")
    name = session.qualified(identifiers.split(merge.target_table_name))
    actions = [
        (known.get(each.merge_action.action_type), each.merge_action)
        for clause, known in _BY_CLAUSE.items()
        for each in getattr(merge, clause)
    ]
    acts = {act for act, _ in actions}
    if not acts or None in acts:
        raise Denied("a merge has clauses, each with what it may do there")
    _check_acts(("SelectFromTable", *sorted(act for act in acts if act)), name, access)
    merge.target_table_name = identifiers.join(name)
    yield merge.source_table_plan
    yield merge.merge_condition
    for _, action in actions:
        yield action


def check_format(format: str) -> None:
    """Raises `Denied` for a format that is not a set of files below the warehouse."""
    if format.lower() not in permitted.load().formats:
        raise Denied(f"format `{format[:100]}` is not permitted")


def _check_acts(acts: tuple[str, ...], name: Name, access: Access) -> None:
    for act in acts:
        if act == "CreateTable":
            access.require(act, name[:-1])
        else:
            access.require_writable(act, name)
