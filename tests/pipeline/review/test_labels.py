"""The domains and tags of assets are those of the facts."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from lakewarden.pipeline.index.index import open_index
from lakewarden.pipeline.review.labels import DOMAINS, TAGS, TERMS, labels_of
from lakewarden.testing.worlds import Size
from tests.pipeline.index import worlds
from tests.pipeline.review.whole import compiled, some

SIZE = Size(entities=60, users=8, groups=4, roles=4, statements=10, goals=20)


def test_entities_have_the_labels_of_the_facts_in_order_in_whichever_block(tmp_path: Path) -> None:
    (world,) = some("datahub", 41, 1, SIZE)
    whole = compiled(world)
    worlds.index(tmp_path, whole, world.system, world.facts.statements, bits=3)
    labels, tree = labels_of(open_index(tmp_path)), whole.coded.tree
    ids = np.arange(len(tree), dtype=np.int32)[::-1]
    for kinds, found in (
        (DOMAINS, labels.domains(ids)),
        (TAGS, labels.tags(ids)),
        (TERMS, labels.terms(ids)),
    ):
        expected: dict[int, set[str]] = {}
        for relation in world.facts.relations:
            if relation.kind in kinds:
                source = tree.find(relation.source)
                assert source is not None
                expected.setdefault(source, set()).add(":".join(relation.target))
        assert expected
        assert found.to_pylist() == [sorted(expected.get(id, ())) for id in ids.tolist()]
