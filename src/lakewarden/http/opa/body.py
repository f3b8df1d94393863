"""The body of a question, in the form of its protocol."""

from __future__ import annotations

from typing import TypeVar

import msgspec

from lakewarden.kernel.errors import BadInput

T = TypeVar("T")


def decoded(decoder: msgspec.json.Decoder[T], body: bytes) -> T:
    """Parses the body; raises `BadInput` that names the member."""
    try:
        return decoder.decode(body)
    except msgspec.ValidationError as error:
        reason, _, where = str(error).partition(" - at `$")
        raise BadInput(reason[:1].lower() + reason[1:], where=where.strip("`.") or "body") from None
    except (msgspec.DecodeError, RecursionError):
        raise BadInput("expected a JSON object", where="body") from None
