"""What a run found about the data itself: who has no owner, which names lead nowhere, and so on."""

from __future__ import annotations

from collections.abc import Mapping

from lakewarden.kernel.model import Model
from lakewarden.pipeline.check import REPEATED
from lakewarden.pipeline.ingest.report import Quality, Share
from lakewarden.pipeline.ingest.writing import Checked, Owned
from lakewarden.service.source_row import PLACEMENTS


def named_only(checked: Checked) -> dict[str, int]:
    """How many names of each type are a parent or a target and not stored."""
    if not (checked.passed.get(PLACEMENTS) or checked.passed.get("relations")):
        return {}
    return checked.rows.named_only()


def quality(
    checked: Checked,
    owned: Owned,
    model: Model,
    named: Mapping[str, int],
    described: Mapping[str, tuple[int, int]],
) -> Quality:
    """The summary; `named` is what `named_only` found, `described` what the source told."""
    owners = owned.rows.owned() if checked.passed.get("entities") else {}
    has_people = owned.total or checked.passed.get("memberships")
    dangling = {**named, **(owned.rows.strangers() if has_people else {})}
    return Quality(
        ownerless={
            type: share
            for type, share in owners.items()
            if type in model.types and model.types[type].owned
        },
        undescribed={t: Share(of - known, of) for t, (known, of) in sorted(described.items())},
        dangling=dict(sorted(dangling.items())),
        duplicates=checked.reasons.get(REPEATED, 0),
        unknown_types={t: share.of for t, share in owners.items() if t not in model.types},
    )
