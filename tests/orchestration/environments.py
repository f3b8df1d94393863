"""Separate environments for programs that pin other versions than the project."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

import lakewarden

ROOT = Path(lakewarden.__file__).parents[2]
INSTALL = ROOT / "scripts" / "client-environment.sh"


def environment(name: str, version: str, requirement: str, *more: str) -> str:
    """The Python of an environment with these packages; skips the test on a failed installation."""
    made = subprocess.run(
        ["sh", str(INSTALL), name, version, requirement, *more],
        env={**os.environ, "PYTHON": sys.executable},
        capture_output=True,
        text=True,
        check=False,
    )
    if made.returncode:
        pytest.skip(f"{requirement} cannot be installed here")
    return made.stdout.strip()
