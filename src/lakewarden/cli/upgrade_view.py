"""An upgrade of a realm's own model, for people."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from lakewarden.cli.plan_view import access

if TYPE_CHECKING:
    from lakewarden.service.model_upgrade import Upgrade

SHOWN = 20


def upgrade_lines(upgrade: Upgrade, *, applied: bool) -> Iterator[str]:
    """What the edition changes, or has changed."""
    if upgrade.is_empty:
        yield f"{upgrade.realm}: has this model already, at revision {upgrade.revision}"
        return
    done = "was upgraded" if applied else "would be upgraded"
    yield f"{upgrade.realm}: {done} from {upgrade.was[:12]} to {upgrade.now[:12]},"
    yield f"  at revision {upgrade.revision}"
    for kind, words in upgrade.words.items():
        signs = (("+", words.new), ("-", words.gone), ("~", words.changed))
        lines = [f"  {sign} {name}" for sign, names in signs for name in names]
        if lines:
            yield from ("", kind, *lines)
    if upgrade.orphans:
        yield from ("", "dropped" if applied else "unknown to the new model: --drop drops it")
        for orphan in upgrade.orphans[:SHOWN]:
            yield f"  - {orphan.kind} {orphan.name}: {orphan.reason}"
        more = sum(upgrade.orphaned.values()) - min(len(upgrade.orphans), SHOWN)
        if more:
            yield f"  and {more:,} more"
    yield ""
    yield from access(upgrade.access)
