"""Results as one JSON object: the machine, the comparison with the last ones, the saved file."""

from __future__ import annotations

import json
import os
import platform
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any

from bench.targets import found

LAST = Path(__file__).parent / "results"
"""The folder of the last committed results."""

KEPT = Path("build/bench")
"""The default folder for a run's results."""


def machine() -> dict[str, Any]:
    """The context of the figures: machine class, load, versions, date."""
    return {
        "date": datetime.now(UTC).date().isoformat(),
        "python": platform.python_version(),
        "machine": f"{platform.system()} {platform.machine()}, {_processor()}",
        "cores": os.cpu_count(),
        "load": [round(load, 2) for load in os.getloadavg()],
        "versions": {name: version(name) for name in ("numpy", "pyroaring")},
    }


def _processor() -> str:
    described = Path("/proc/cpuinfo")
    if described.exists():
        for line in described.read_text().splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or "unknown processor"


def rounded(value: Any) -> Any:
    """The same, with figures rounded to four significant digits."""
    match value:
        case bool() | int() | str() | None:
            return value
        case float():
            return float(f"{value:.4g}")
        case Mapping():
            return {key: rounded(each) for key, each in value.items()}
        case _:
            return [rounded(each) for each in value]


def against(result: Mapping[str, Any], name: str, keys: Iterable[str]) -> dict[str, Any] | None:
    """Each figure as a multiple of the last committed one; None if there is none.

    `keys` are dotted. A change of the hand-made engine's figures is due to the machine.
    """
    last = LAST / f"{name}.json"
    if not last.exists():
        return None
    before = json.loads(last.read_text())
    ratios = {key: _ratio(found(result, key), found(before, key)) for key in keys}
    return {"date": before["date"], "machine": before["machine"], "ratios": ratios}


def _ratio(now: float | None, before: float | None) -> float | None:
    return now / before if now and before else None


def kept(result: Mapping[str, Any], name: str, path: str) -> Path:
    """Writes the result to `path`, or to a dated file if `path` is empty; returns the path."""
    place = Path(path) if path else KEPT / f"{result['date']}-{name}.json"
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_text(json.dumps(result, indent=2) + "\n")
    return place
