"""The built pages, read once: no request accesses a folder.

The build uses names with a hash of the content below `assets/`, so browsers cache these
permanently. A file may have precompressed versions beside it, as `NAME.br` or `NAME.gz`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from importlib import resources
from importlib.resources.abc import Traversable
from typing import Final

TYPES: Final[Mapping[str, str]] = {
    "css": "text/css; charset=utf-8",
    "html": "text/html; charset=utf-8",
    "js": "text/javascript; charset=utf-8",
    "json": "application/json",
    "svg": "image/svg+xml",
    "txt": "text/plain; charset=utf-8",
    "woff2": "font/woff2",
}
"""Media types by file extension; nothing else is served."""

INDEX: Final = "index.html"
_FOLDER: Final[Traversable] = resources.files("lakewarden.ui") / "dist"
_COMPRESSED: Final = {".br": "br", ".gz": "gzip"}


@dataclass(frozen=True, slots=True)
class File:
    """A file: its media type, its content, and its encoded versions by content coding."""

    media_type: str
    content: bytes
    coded: Mapping[str, bytes]

    def coded_for(self, accepted: str) -> tuple[bytes, str]:
        """The content, and its coding if the client accepts one; the smallest first."""
        codings = set(map(_coding, accepted.split(",")))
        for coding in ("br", "gzip"):
            if coding in codings and coding in self.coded:
                return self.coded[coding], coding
        return self.content, ""


def _coding(accepted: str) -> str:
    """The coding that an item of `Accept-Encoding` accepts; "" if it accepts none.

    >>> _coding(" BR;q=0.5"), _coding("gzip; q=0"), _coding("gzip;q=0.000")
    ('br', '', '')
    """
    coding, _, weight = accepted.lower().replace(" ", "").partition(";q=")
    return "" if weight and not weight.strip("0.") else coding


def is_built() -> bool:
    """Whether this installation has pages."""
    return (_FOLDER / INDEX).is_file()


def built_files(folder: Traversable | None = None) -> dict[str, File]:
    """The files by their paths below `/ui/`; empty if nothing was built."""
    root = _FOLDER if folder is None else folder
    contents: dict[str, bytes] = {}
    if root.is_dir():
        _collect(root, "", contents)
    return {
        name: File(
            TYPES[_end(name)],
            content,
            {
                coding: contents[name + end]
                for end, coding in _COMPRESSED.items()
                if name + end in contents
            },
        )
        for name, content in contents.items()
        if _end(name) in TYPES
    }


def _collect(folder: Traversable, above: str, contents: dict[str, bytes]) -> None:
    for entry in folder.iterdir():
        if entry.is_dir():
            _collect(entry, f"{above}{entry.name}/", contents)
        else:
            contents[above + entry.name] = entry.read_bytes()


def _end(name: str) -> str:
    return name.rpartition(".")[2]
