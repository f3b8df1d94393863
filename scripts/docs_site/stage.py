"""The sources of the site: the pages of the repository, with links rewritten for the site.

In the repository a page links to files and folders beside it. A page with a place in the site is
linked there; any other file is copied and offered for download, a folder by a list of its files.
A broken link stays as it is, and Sphinx refuses it.
"""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Callable, Mapping
from pathlib import Path, PurePosixPath
from typing import Final

from scripts.docs_site.nav import HOME, Nav, place

FENCE: Final = re.compile(r"^( *)(```+|~~~+).*?^\1\2 *$\n?", re.DOTALL | re.MULTILINE)
LINK: Final = re.compile(r"(?<=\]\()([^)\s#]+)(#[^)\s]*)?(?=\))")
_OUTSIDE: Final = "files"
_HIDDEN: Final = "\n```{{toctree}}\n:hidden:\n:titlesonly:\n{options}\n{pages}\n```\n"


def stage(root: Path, nav: Nav, folder: Path, written: Mapping[str, str]) -> None:
    """Writes the sources into `folder`; `written` has the pages generated from code, by path.

    Raises `ValueError` for a link to a page of the repository that the nav does not have.
    """
    Stage(root, nav, folder).write(written)


class Stage:
    """One run that writes the sources."""

    def __init__(self, root: Path, nav: Nav, folder: Path) -> None:
        self._root, self._nav, self._folder = root, nav, folder
        self._places = {page: place(page) for page in nav}

    def write(self, written: Mapping[str, str]) -> None:
        """Writes every page of the nav; pages generated from code are written as given."""
        shutil.rmtree(self._folder, ignore_errors=True)
        for page, at in self._places.items():
            text = written.get(page)
            if text is None:
                text = self._linked(page, at, (self._root / page).read_text("utf-8"))
            self._put(at, text + self._tree(page))

    def _put(self, at: str, text: str) -> None:
        file = self._folder / at
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, "utf-8")

    def _tree(self, page: str) -> str:
        """A page's tables of contents: all sections for the home page, its pages for an index."""
        if page != HOME:
            below = self._nav.folders.get(page, ())
            return self._toctree("", below, self._places[page]) if below else ""
        return "".join(
            self._toctree(
                f":caption: {section.title}\n",
                tuple(one for one in section.pages if one != HOME),
                self._places[HOME],
            )
            for section in self._nav.sections
        )

    def _toctree(self, options: str, pages: tuple[str, ...], at: str) -> str:
        names = (_relative(self._places[page], at).removesuffix(".md") for page in pages)
        return _HIDDEN.format(options=options, pages="\n".join(names))

    def _linked(self, page: str, at: str, text: str) -> str:
        folder = (self._root / page).parent

        def lead(link: re.Match[str]) -> str:
            target, anchor = link[1], link[2] or ""
            if ":" in target:
                return link[0]
            path = Path(os.path.normpath(folder / target))
            if not path.is_relative_to(self._root) or not path.exists():
                return link[0]
            return _relative(self._target(path), at) + anchor

        return outside_fences(text, lambda prose: LINK.sub(lead, prose))

    def _target(self, path: Path) -> str:
        """The path in the site of a file or folder of the repository; copies it if needed."""
        name = str(PurePosixPath(path.relative_to(self._root)))
        if path.is_dir():
            return self._listed(path, name)
        if name in self._places:
            return self._places[name]
        if path.suffix == ".md":
            raise ValueError(f"a page links to `{name}`, which has no place in the nav")
        at = name.removeprefix("docs/") if name.startswith("docs/") else f"{_OUTSIDE}/{name}"
        file = self._folder / at
        file.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(path, file)
        return at

    def _listed(self, path: Path, name: str) -> str:
        for index in (f"{name}/README.md", f"{name}/index.md"):
            if index in self._places:
                return self._places[index]
        at = f"{_OUTSIDE}/{name}/index.md"
        files = sorted(file for file in path.rglob("*") if _is_source(file))
        rows = "".join(
            f"- [{file.relative_to(path)}]({_relative(self._target(file), at)})\n" for file in files
        )
        self._put(at, f"---\norphan: true\n---\n\n# `{name}`\n\n{rows}")
        return at


def _is_source(file: Path) -> bool:
    return file.is_file() and not {"__pycache__", ".ipynb_checkpoints"} & set(file.parts)


def _relative(target: str, at: str) -> str:
    return os.path.relpath(target, PurePosixPath(at).parent)


def outside_fences(text: str, change: Callable[[str], str]) -> str:
    """The text, changed everywhere except in fenced blocks."""
    parts, end = [], 0
    for fence in FENCE.finditer(text):
        parts += [change(text[end : fence.start()]), fence[0]]
        end = fence.end()
    return "".join([*parts, change(text[end:])])
