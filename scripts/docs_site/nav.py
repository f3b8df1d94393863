"""The order of the site: the place and section of each page of the repository."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Final

FILE: Final = Path(__file__).with_name("nav.toml")
HOME: Final = "docs/index.md"
_INDEXES: Final = ("README.md", "index.md")
_RESERVED: Final = {"search.md": "search-in-datahub.md"}
"""Pages with the same name as one of Sphinx's own pages."""


@dataclass(frozen=True, slots=True)
class Section:
    """A heading of the sidebar, and its pages as paths of the repository, in order."""

    title: str
    pages: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Nav:
    """The sections; `folders` has the pages below each index, by the index's path."""

    sections: tuple[Section, ...]
    folders: Mapping[str, tuple[str, ...]]

    def __iter__(self) -> Iterator[str]:
        """Every page, once for each of its places."""
        for section in self.sections:
            for page in section.pages:
                yield page
                yield from self.folders.get(page, ())


def read(root: Path, file: Path = FILE) -> Nav:
    """The nav of a checkout. Raises `ValueError` for a missing page."""
    sections, folders = [], {}
    for row in tomllib.loads(file.read_text("utf-8"))["section"]:
        pages = []
        for entry in row["pages"]:
            place = root / entry
            if place.is_dir():
                index, below = _folder(root, entry)
                folders[index] = below
                pages.append(index)
            elif place.is_file() or is_written(entry):
                pages.append(entry)
            else:
                raise ValueError(f"{file.name}: there is no `{entry}`")
        sections.append(Section(row["title"], tuple(pages)))
    return Nav(tuple(sections), folders)


def _folder(root: Path, folder: str) -> tuple[str, tuple[str, ...]]:
    names = sorted(path.name for path in (root / folder).glob("*.md"))
    index = next((name for name in _INDEXES if name in names), _INDEXES[-1])
    return f"{folder}/{index}", tuple(f"{folder}/{name}" for name in names if name != index)


def is_written(page: str) -> bool:
    """Whether a page is generated when the site is built."""
    return page.startswith("reference/")


def place(page: str) -> str:
    """The path in the site of a page of the repository.

    >>> place("docs/lint/index.md"), place("docs/decisions/README.md"), place("CONTRIBUTING.md")
    ('lint/index.md', 'decisions/index.md', 'contributing.md')
    >>> place("src/lakewarden/sample/README.md")
    'sample.md'
    """
    path = PurePosixPath(page)
    if path.parts[0] == "src":
        return f"{path.parent.name}.md"
    if len(path.parts) == 1:
        return page.lower()
    inner = path.relative_to("docs") if path.parts[0] == "docs" else path
    at = str(inner.with_name("index.md") if inner.name == "README.md" else inner)
    return _RESERVED.get(at, at)
