"""Types and patterns of the fields in bodies, paths and queries of the administration API.

`described` adds constraints to the schema that the use cases check with better error messages; the
schema is never stricter than they are.
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
"""Text without control characters and line breaks, as in `names.canonical.check_text`."""

SEGMENT: Final = f"^(?!\\.{{1,2}}$)[^{_CONTROLS}]+$"
"""A path segment, with encoded slashes."""

PERSON: Final = f"(?!\\.{{1,2}}$)[^{_CONTROLS}]{{1,256}}$"
"""The part behind a kind and a colon; as the whole of a name, `USER_NAME`."""

USER_NAME: Final = f"^{PERSON}"
ENTITY: Final = "^[^:]+:"
NAME: Final = "^[a-z0-9][a-z0-9_-]{0,62}$"
"""The name of a realm or a directory."""

REALM: Final = "^_?[a-z0-9][a-z0-9_-]{0,62}$"
"""The name of an existing realm, including lakewarden's own."""

DECISION: Final = "^d[0-9a-f]{16}$"
"""The id of a decision."""

FINGERPRINT: Final = "^[0-9a-f]{32}$"
"""The id of a finding."""

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
"""An entity, or its type alone, with nothing behind the colon."""

ActionName = Annotated[str, described(minLength=1)]
"""An operation or a privilege, as a model declares it."""

Mark = Annotated[str, Meta(min_length=1, max_length=MAX_KEEPER, pattern=READABLE)]
"""The keeper of objects from policy files."""
