"""A next release with its own schemas, as far as a store can see it: additional migrations.

Code outside `next_release` is this release; a store that was opened there meets the next release's
changes.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from lakewarden.store import compatibility
from lakewarden.store.migrations import versions

THIS = compatibility.newest()
EXPANDED, CONTRACTED = "9001", "9002"

_STEP = '''"""A step of the next release."""

import sqlalchemy as sa
from alembic import op

revision = "{revision}"
down_revision = "{before}"
{declared}

def upgrade():
    {up}


def downgrade():
    {down}
'''


def write_steps(folder: Path, *, contracts: bool = False, declared: bool = True) -> Path:
    """A folder with a step that adds a column, and if it `contracts`, one that drops an index.

    The second is compatible with the first step, or does not declare that.
    """
    folder.mkdir()
    add = "op.add_column('usage', sa.Column('note', sa.Text, nullable=False, server_default=''))"
    drop = "op.drop_column('usage', 'note')"
    _write(folder, EXPANDED, THIS, f'usable_from = "{THIS}"', add, drop)
    if contracts:
        says = f'usable_from = "{EXPANDED}"' if declared else ""
        make = "op.create_index('usage_realm', 'usage', ['realm'])"
        _write(folder, CONTRACTED, EXPANDED, says, "op.drop_index('usage_realm')", make)
    return folder


def _write(folder: Path, revision: str, before: str, declared: str, up: str, down: str) -> None:
    text = _STEP.format(revision=revision, before=before, declared=declared, up=up, down=down)
    (folder / f"m{revision}_planted.py").write_text(text, "utf-8")


@contextmanager
def next_release(steps: Path) -> Iterator[None]:
    """Makes this process the next release, with these steps."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(versions, "__path__", [*versions.__path__, str(steps)])
        importlib.invalidate_caches()
        compatibility.known.cache_clear()
        try:
            yield
        finally:
            compatibility.known.cache_clear()
            for path in steps.iterdir():
                sys.modules.pop(f"{versions.__name__}.{path.stem}", None)


_CUSTOM = """
from lakewarden.store.migrations import versions

versions.__path__.append({steps!r})
"""


def environment(folder: Path, steps: Path) -> dict[str, str]:
    """The environment of a process of the next release, with these steps."""
    folder.mkdir()
    (folder / "sitecustomize.py").write_text(_CUSTOM.format(steps=str(steps)), "utf-8")
    return {"PYTHONPATH": str(folder)}
