#!/usr/bin/env python3
"""Run a command and print how much CPU its processes took, by kind of process.

    scripts/cpu-by-kind.py make test

Reads /proc five times a second (Linux only). The CPU time of a process after its last sample is
counted with its parent once the parent has waited for it, as kind `short processes`.
"""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import time
from collections import defaultdict
from pathlib import Path

INTERVAL_S = 0.2
TICKS = os.sysconf("SC_CLK_TCK")
# The first word that occurs in a command line names its kind.
KINDS = (
    ("playwright/driver", "node: playwright"),
    ("chromium", "chromium"),
    ("SparkSubmit", "java: spark"),
    ("deploy.worker", "java: spark"),
    ("deploy.master", "java: spark"),
    ("CoarseGrained", "java: spark"),
    ("java", "java: other"),
    ("pyspark/daemon", "python: spark workers"),
    ("pyspark.daemon", "python: spark workers"),
    ("pyspark/worker", "python: spark workers"),
    ("postgres", "postgresql"),
    ("initdb", "postgresql"),
    ("mariadb", "mariadb"),
    ("datahub-client", "python: datahub client"),
    ("gravitino-client", "python: gravitino client"),
    # The command line with which execnet starts them.
    ("exec(eval(sys.stdin", "python: test workers"),
    ("-m pytest", "python: who hands the tests out"),
    ("schemathesis", "python: schemathesis"),
    ("spawn_main", "python: other processes of lakewarden"),
    ("serve", "python: lakewarden serve"),
    ("lakewarden", "python: other processes of lakewarden"),
    ("python", "python: other"),
    ("pip", "python: other"),
)


def kind_of(command: str) -> str:
    """Return the kind of process that has this command line."""
    return next((kind for word, kind in KINDS if word in command), "other")


def processes_below(root: int) -> dict[tuple[int, str], tuple[str, float]]:
    """Return command line and CPU seconds of every live process below `root`, by id and start."""
    parents: dict[int, int] = {}
    found: dict[int, tuple[str, str, float]] = {}
    for folder in Path("/proc").iterdir():
        if not folder.name.isdigit():
            continue
        try:
            stat = (folder / "stat").read_text().rpartition(")")[2].split()
            command = (
                (folder / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
            )
        except OSError:
            continue
        pid = int(folder.name)
        parents[pid] = int(stat[1])
        found[pid] = (stat[19], command, (int(stat[11]) + int(stat[12])) / TICKS)

    below = {}
    for pid, (started, command, cpu_s) in found.items():
        above: int | None = pid
        while above is not None and above != root:
            above = parents.get(above)
        if above == root:
            below[pid, started] = (command, cpu_s)
    return below


def main() -> int:
    """Run the command that the arguments name; return its exit code."""
    started = time.monotonic()
    process = subprocess.Popen(sys.argv[1:])  # noqa: S603 - the caller's own command
    # Daemons outlive their parents, and without a subreaper they are no longer below us: each
    # process that was seen once is followed by its id.
    last: dict[tuple[int, str], tuple[str, float]] = {}
    while process.poll() is None:
        for key, (command, cpu_s) in processes_below(os.getpid()).items():
            # A process that has ended but is not waited for yet has no command line.
            last[key] = (command.strip() or last.get(key, ("", 0.0))[0], cpu_s)
        time.sleep(INTERVAL_S)

    by_kind: defaultdict[str, float] = defaultdict(float)
    for command, cpu_s in last.values():
        by_kind[kind_of(command)] += cpu_s
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    waited_for = used.ru_utime + used.ru_stime
    by_kind["short processes"] = max(0.0, waited_for - sum(by_kind.values()))
    print(f"\n{'CPU s':>9}  kind of process ({time.monotonic() - started:.0f} s in all)")
    for kind, cpu_s in sorted(by_kind.items(), key=lambda one: -one[1]):
        print(f"{cpu_s:9.1f}  {kind}")
    return process.returncode


if __name__ == "__main__":
    sys.exit(main())
