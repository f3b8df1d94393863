"""Types and patterns of the fields in bodies, paths and queries of the administration API.

`described` puts into the schema what the use cases refuse with better messages than a schema
has; the schema is never stricter than they are.
"""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Final

from msgspec import Meta

from lakewarden import models
from lakewarden.models.own import MAX_BYTES
from lakewarden.service.plan import MAX_KEEPER
from lakewarden.service.realms import CONTROL_MODEL


def described(**schema: object) -> Meta:
    """A constraint for the schema, which another layer checks."""
    return Meta(extra_json_schema=schema)


_CONTROLS = r"\u0000-\u001f\u007f-\u009f\u2028\u2029"
READABLE: Final = f"^[^{_CONTROLS}]*$"
"""Text without control characters and line breaks, as `names.canonical.check_text` has it."""

SEGMENT: Final = f"^(?!\\.{{1,2}}$)[^{_CONTROLS}]+$"
"""What a path may hold between two slashes, when these are encoded."""

PERSON: Final = f"(?!\\.{{1,2}}$)[^{_CONTROLS}]{{1,256}}$"
"""Behind a kind and a colon; as the whole of a name, `USER_NAME`."""

USER_NAME: Final = f"^{PERSON}"
ENTITY: Final = "^[^:]+:"
NAME: Final = "^[a-z0-9][a-z0-9_-]{0,62}$"
"""What a realm or a directory may be called."""

REALM: Final = "^_?[a-z0-9][a-z0-9_-]{0,62}$"
"""A realm that is there, the one of lakewarden itself included."""

DECISION: Final = "^d[0-9a-f]{16}$"
"""The id of a decision."""

FINGERPRINT: Final = "^[0-9a-f]{32}$"
"""What a finding is called."""

Scalar = str | bool | int | float
Moment = Annotated[datetime, Meta(tz=True)]
"""A date and time with its offset."""

RealmName = Annotated[str, described(pattern=NAME)]
DirectoryName = Annotated[str, described(pattern=NAME)]
ModelName = Annotated[str, described(enum=[n for n in models.names() if n != CONTROL_MODEL])]
ModelFile = Annotated[str, described(minLength=1, maxLength=MAX_BYTES)]
"""The text of a model file."""

PrincipalText = Annotated[str, described(minLength=1, pattern=READABLE)]
EntityText = Annotated[str, described(pattern=ENTITY)]
"""An entity, or with nothing behind the colon its type alone."""

ActionName = Annotated[str, described(minLength=1)]
"""An operation or a privilege, as a model declares it."""

Mark = Annotated[str, Meta(min_length=1, max_length=MAX_KEEPER, pattern=READABLE)]
"""Who keeps what comes from policy files."""
