"""What a run found about the data itself: who has no owner, which names lead nowhere, and so on."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from lakewarden.aspects.row import PLACEMENTS
from lakewarden.kernel.model import Model
from lakewarden.kernel.principal import IMPLIED
from lakewarden.pipeline.check import REPEATED
from lakewarden.pipeline.ingest.report import Quality, Share
from lakewarden.pipeline.ingest.writing import Checked, Owned, table

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


def named_only(checked: Checked) -> dict[str, int]:
    """How many names of each type are a parent or a target and not stored."""
    from pyspark.sql import functions as F  # noqa: N812 — as everybody calls it

    if not (checked.passed.get(PLACEMENTS) or checked.passed.get("relations")):
        return {}
    sound = checked.rows.filter("reason is null")
    stored = table(checked.rows, "entities")
    parents = sound.filter(F.col("table") == PLACEMENTS).select("c2", "c3")
    targets = sound.filter("table = 'relations'").select("c3", "c4")
    named = parents.union(targets).toDF("type", "name").distinct()
    counted = named.join(stored, ["type", "name"], "left_anti").groupBy("type").count()
    return {row["type"]: row["count"] for row in counted.orderBy("type").collect()}


def quality(
    checked: Checked,
    owned: Owned,
    model: Model,
    named: Mapping[str, int],
    described: Mapping[str, tuple[int, int]],
) -> Quality:
    """The summary; `named` is what `named_only` found, `described` what the source told."""
    owners = _owners(checked, owned)
    dangling = {**named, **_strangers(checked, owned)}
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


def _owners(checked: Checked, owned: Owned) -> dict[str, Share]:
    """By type: how many entities have no owner of their own, of how many."""
    from pyspark.sql import functions as F  # noqa: N812 — as everybody calls it

    if not checked.passed.get("entities"):
        return {}
    having = owned.rows.select("type", "name", F.lit(1).alias("has")).distinct()
    entities = table(checked.rows, "entities").join(having, ["type", "name"], "left")
    counted = entities.groupBy("type").agg(F.count("*").alias("of"), F.count("has").alias("has"))
    found = counted.orderBy("type").collect()
    return {row["type"]: Share(row["of"] - row["has"], row["of"]) for row in found}


def _strangers(checked: Checked, owned: Owned) -> dict[str, int]:
    """By kind: how many owners, and names in memberships, are no stored principal."""
    if not (owned.total or checked.passed.get("memberships")):
        return {}
    memberships = table(checked.rows, "memberships")
    named: DataFrame = (
        owned.rows.select("owner_kind", "owner_name")
        .union(memberships.select("member_kind", "member_name"))
        .union(memberships.select("of_kind", "of_name"))
        .toDF("kind", "name")
        .distinct()
    )
    stored = table(checked.rows, "principals")
    strangers = named.filter(named["kind"] != IMPLIED).join(stored, ["kind", "name"], "left_anti")
    return {row["kind"]: row["count"] for row in strangers.groupBy("kind").count().collect()}
