"""Files that people write for jobs, and the error for one that cannot be read."""

from __future__ import annotations

import tomllib

from lakewarden.kernel.errors import BadInput
from lakewarden.kernel.toml_section import Section
from lakewarden.pipeline.storage.location import Location


def read_toml(file: Location) -> Section:
    """The table of a TOML file. Raises `BadInput` with the file."""
    try:
        return Section(tomllib.loads(file.read_text("utf-8")), str(file))
    except OSError as error:
        raise unreadable(error, str(file)) from None
    except UnicodeDecodeError:
        raise BadInput("not UTF-8", where=str(file)) from None
    except tomllib.TOMLDecodeError as error:
        raise BadInput(str(error).lower(), where=str(file)) from None


def unreadable(error: OSError, where: str) -> BadInput:
    """The error for a file that cannot be read."""
    reason = (error.strerror or str(error)).lower()
    return BadInput(f"cannot be read: {reason}", where=where)
