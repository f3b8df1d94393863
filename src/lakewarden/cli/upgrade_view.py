"""An upgrade of a realm's own model, for people."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from lakewarden.cli.plan_view import access

if TYPE_CHECKING:
    from lakewarden.service.model_upgrade import Upgrade

SHOWN = 20


def upgrade_lines(found: Upgrade, *, applied: bool) -> Iterator[str]:
    """What the edition changes, or has changed."""
    if found.is_empty:
        yield f"{found.realm}: has this model already, at revision {found.revision}"
        return
    done = "was upgraded" if applied else "would be upgraded"
    yield f"{found.realm}: {done} from {found.was[:12]} to {found.now[:12]},"
    yield f"  at revision {found.revision}"
    for kind, words in found.words.items():
        signs = (("+", words.new), ("-", words.gone), ("~", words.changed))
        lines = [f"  {sign} {name}" for sign, names in signs for name in names]
        if lines:
            yield from ("", kind, *lines)
    if found.orphans:
        yield from ("", "dropped" if applied else "unknown to the new model: --drop drops it")
        for orphan in found.orphans[:SHOWN]:
            yield f"  - {orphan.kind} {orphan.name}: {orphan.reason}"
        more = sum(found.orphaned.values()) - min(len(found.orphans), SHOWN)
        if more:
            yield f"  and {more:,} more"
    yield ""
    yield from access(found.access)
