"""Rules that the import contracts of `make lint` cannot express, checked on the source."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from collections.abc import Iterator
from importlib.metadata import version
from pathlib import Path

import pytest

import lakewarden
from lakewarden.service.warden import Warden

ROOT = Path(lakewarden.__file__).parent
KERNEL = sorted((ROOT / "kernel").rglob("*.py"))

# All modules that the kernel may import. An addition is a design decision: the module must have
# no I/O and must not depend on the time, the place or the process.
ALLOWED_IN_KERNEL = {
    "__future__",
    "abc",
    "array",
    "ast",
    "bisect",
    "collections",
    "collections.abc",
    "dataclasses",
    "datetime",  # the type of a TOML date-time; its clock is refused below
    "enum",
    "functools",
    "hashlib",  # digests a model
    "heapq",
    "itertools",
    "json",  # canonical text for the digest
    "math",
    "numpy",
    "numpy.typing",
    "operator",
    "pyroaring",
    "struct",
    "typing",
    "weakref",  # caches for objects in use
}
# The first read the clock or the local time zone, the next perform I/O, and the last would make
# Python evaluate the text of a model file.
REFUSED_CALLS = {
    *("astimezone", "now", "today", "utcnow"),
    *("input", "open", "print"),
    *("__import__", "eval", "exec"),
}


def imports(tree: ast.AST) -> Iterator[str]:
    """Every module that a file imports, at any place."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, "imports are absolute"
            assert node.module is not None
            yield node.module


def calls(tree: ast.AST) -> Iterator[str]:
    """The last name of everything that a file calls."""
    for node in ast.walk(tree):
        match node:
            case ast.Call(func=ast.Name(id=name)) | ast.Call(func=ast.Attribute(attr=name)):
                yield name


def test_the_kernel_is_found() -> None:
    assert KERNEL


@pytest.mark.parametrize("path", KERNEL, ids=lambda path: path.stem)
def test_the_kernel_imports_only_what_is_listed(path: Path) -> None:
    imported = set(imports(ast.parse(path.read_text("utf-8"))))
    ours = {name for name in imported if f"{name}.".startswith("lakewarden.kernel.")}
    assert imported - ours <= ALLOWED_IN_KERNEL


@pytest.mark.parametrize("path", KERNEL, ids=lambda path: path.stem)
def test_the_kernel_reads_no_clock_and_reaches_nothing_outside(path: Path) -> None:
    assert not REFUSED_CALLS & set(calls(ast.parse(path.read_text("utf-8"))))


def test_importing_the_package_imports_none_of_its_rooms_and_no_library() -> None:
    program = (
        "import sys; before = set(sys.modules)\n"
        "import lakewarden\n"
        "print(*sorted(set(sys.modules) - before))"
    )
    new = subprocess.run(
        [sys.executable, "-c", program], check=True, capture_output=True, text=True
    ).stdout.split()
    assert new == ["__future__", "lakewarden"]


def test_public_names_are_fetched_on_first_use_and_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    names = vars(lakewarden)
    for name in lakewarden.__all__:
        monkeypatch.delitem(names, name, raising=False)
        assert getattr(lakewarden, name) is names[name]
    assert lakewarden.Warden is Warden
    assert lakewarden.__version__ == version("lakewarden")


def test_the_package_lists_its_public_names_and_refuses_others() -> None:
    assert dir(lakewarden) == sorted(lakewarden.__all__)
    with pytest.raises(AttributeError, match="has no attribute `nonsense`"):
        _ = lakewarden.nonsense


SYSTEMS = re.compile("gravitino|datahub|cdap", re.IGNORECASE)
NAMES_OF_SYSTEMS = {
    "analysis/lint/rules": "a rule cites where its pattern comes from",
    "cli/importing.py": "help of options that single systems take",
    "cli/pipeline/ingest.py": "help and examples",
    "cli/pipeline/ingest_sources.py": "help of options that single systems take",
    "cli/pipeline/ownership.py": "help and examples",
    "cli/question.py": "help of the asking verbs",
    "cli/realm.py": "help and examples",
    "cli/serve.py": "the option `--cdap-profile`, and help",
    "cli/source_credentials.py": "help of options that single systems take",
    "cli/user_password.py": "the realm that has passwords unless another one is named",
    "service/password.py": "passwords that are guessed first",
}
"""The places where the core may name a system, with reasons."""


def _words(tree: ast.AST) -> Iterator[str]:
    """All identifiers and string literals, without docstrings."""
    docs = {id(one.value) for one in ast.walk(tree) if isinstance(one, ast.Expr)}
    for node in ast.walk(tree):
        match node:
            case ast.Constant(value=str() as text) if id(node) not in docs:
                yield text
            case ast.Name(id=name) | ast.Attribute(attr=name) | ast.arg(arg=name):
                yield name
            case ast.FunctionDef(name=name) | ast.ClassDef(name=name):
                yield name
            case ast.keyword(arg=str() as name) | ast.ImportFrom(module=str() as name):
                yield name


def test_the_core_names_no_system() -> None:
    naming = {}
    for path in ROOT.rglob("*.py"):
        place = path.relative_to(ROOT).as_posix()
        if place.startswith("systems/"):
            continue
        words = [one for one in _words(ast.parse(path.read_text("utf-8"))) if SYSTEMS.search(one)]
        if words or SYSTEMS.search(place):
            naming[place] = words
    excused = {
        place: next((e for e in NAMES_OF_SYSTEMS if place.startswith(e)), "") for place in naming
    }
    assert {place: naming[place] for place, by in excused.items() if not by} == {}
    assert set(NAMES_OF_SYSTEMS) == set(excused.values())
