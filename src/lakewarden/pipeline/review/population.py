"""What a review is of: the index, how old it is, and the population that was frozen in it."""

from __future__ import annotations

import json
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from lakewarden.kernel.principal import USER
from lakewarden.pipeline.index.index import STATEMENTS, Index
from lakewarden.pipeline.product import sha256_of
from lakewarden.pipeline.review.block_merge import Found
from lakewarden.pipeline.version_folder import MANIFEST


def age_of(source: Path) -> dict[str, Any]:
    """When the index was written, and how long ago that is, in seconds."""
    written_at = (source / MANIFEST).stat().st_mtime
    moment = datetime.fromtimestamp(written_at, UTC).isoformat(timespec="seconds")
    return {"written": moment, "age_seconds": max(0, round(time.time() - written_at))}


def facts_of(index: Index, found: Found) -> dict[str, Any]:
    """What the review is of: the system, and the population as it was frozen in the index."""
    facts, memberships = index.manifest.facts, found.people.memberships
    statements = sha256_of((index.folder / STATEMENTS).read_text("utf-8"))
    digests = {name: content.digest for name, content in sorted(index.manifest.tables.items())}
    population = {
        "entities": sum(n for type, n in found.census.items() if type),
        "users": sum(memberships.principals[id].kind == USER for id in memberships.stored),
        "principals": len(memberships.stored),
        "statements": statements,
        "checksum": sha256_of(json.dumps([digests, statements])),
    }
    kept = ("realm", "revision", "model", "settings", "digest", "from", "until", "bits")
    return {**{name: facts[name] for name in kept}, "population": population}
