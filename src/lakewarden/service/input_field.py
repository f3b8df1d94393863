"""Field names in errors: an error about a part of a question names the field."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from lakewarden.kernel.errors import BadInput, LimitExceeded, Unknown


@contextmanager
def in_field(where: str) -> Iterator[None]:
    """Turns input errors that are raised inside into `BadInput` of this field.

    An error that names its own place keeps it.
    """
    try:
        yield
    except BadInput as error:
        if error.where:
            raise
        raise BadInput(error.message, where=where) from None
    except (Unknown, LimitExceeded) as error:
        raise BadInput(str(error), where=where) from None
