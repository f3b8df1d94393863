"""Checks that a message contains only what is permitted, down to its last field.

A field that this release does not know, a kind of relation, expression or command that is not in
`permitted.toml`, and an unknown enumeration value are all denied.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from google.protobuf.descriptor import FieldDescriptor
from google.protobuf.message import DecodeError, Message

from lakewarden.gateway import permitted
from lakewarden.gateway.errors import Denied, Malformed

MAX_BYTES: Final = 64 * 1024 * 1024
"""The size limit of a call, and of a plan with everything from its views."""

MAX_MESSAGES: Final = 200_000
"""The most messages in a call, in total: relations, expressions, literals."""

_PACKAGE: Final = "spark.connect."


def parsed(kind: type[Any], data: bytes) -> Any:
    """Parses a message of a type; raises `Malformed`, and `Denied` for anything not permitted.

    The library refuses messages that are nested deeper than 100 levels.
    """
    if len(data) > MAX_BYTES:
        raise Malformed(f"the message is larger than {MAX_BYTES} bytes")
    message = kind()
    try:
        message.ParseFromString(data)
    except DecodeError:
        raise Malformed(
            "the message cannot be read: it is malformed, or nested deeper than 100 levels"
        ) from None
    check(message)
    return message


def check(message: Message) -> None:
    """Raises `Denied` for anything in the message that is not permitted."""
    known = type(message)()
    known.CopyFrom(message)
    known.DiscardUnknownFields()
    if known.ByteSize() != message.ByteSize():
        raise Denied("the client sends fields that are not known here")
    _check(message, [0])


def _check(message: Message, count: list[int]) -> None:
    count[0] += 1
    if count[0] > MAX_MESSAGES:
        raise Malformed(f"the plan has more than {MAX_MESSAGES} parts")
    name = message.DESCRIPTOR.full_name
    fields = permitted.load().messages.get(name.removeprefix(_PACKAGE))
    if fields is None or not name.startswith(_PACKAGE):
        raise Denied(f"`{name}` is not permitted")
    for field, value in message.ListFields():
        if field.name not in fields:
            raise Denied(f"`{name.removeprefix(_PACKAGE)}.{field.name}` is not permitted")
        if field.type == FieldDescriptor.TYPE_ENUM:
            _check_values(field, value)
    for part in parts(message):
        _check(part, count)


def _check_values(field: Any, value: Any) -> None:
    values = value if field.is_repeated else [value]
    if any(each not in field.enum_type.values_by_number for each in values):
        raise Denied(f"`{field.name}` has a value that is not known here")


def parts(message: Message) -> Iterator[Message]:
    """The messages in a message, one level down."""
    for field, value in message.ListFields():
        if field.message_type is None:
            continue
        if not field.is_repeated:
            yield value
        elif field.message_type.GetOptions().map_entry:
            if field.message_type.fields_by_name["value"].message_type is not None:
                yield from value.values()
        else:
            yield from value
