"""Names of fields in errors: what is wrong with the words of a question says where they stood."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from lakewarden.kernel.errors import BadInput, LimitExceeded, Unknown


@contextmanager
def in_field(where: str) -> Iterator[None]:
    """Errors of the input that are raised inside are `BadInput` of this field.

    One that names its own place keeps it.
    """
    try:
        yield
    except BadInput as error:
        if error.where:
            raise
        raise BadInput(error.message, where=where) from None
    except (Unknown, LimitExceeded) as error:
        raise BadInput(str(error), where=where) from None
