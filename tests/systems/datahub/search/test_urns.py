"""The parts of URNs, column by column, for trees that continue each other."""

from __future__ import annotations

from lakewarden.kernel.entity import Entity
from lakewarden.kernel.numbering import Numbering
from lakewarden.kernel.relations import EntityColumns, EntityRow
from lakewarden.kernel.tree import Tree
from lakewarden.systems.datahub.search.urns import Urns


def dataset(platform: str) -> Entity:
    return Entity("dataset", f"urn:li:dataset:(urn:li:dataPlatform:{platform},t,PROD)")


def platforms(tree: Tree) -> list[str]:
    said = Urns.of(tree).platforms
    return [said.texts[code].rpartition(":")[2] for code in said.codes.tolist() if code]


def test_trees_that_go_on_from_one_otherwise_have_their_own_columns() -> None:
    tree = Numbering(EntityColumns.of([EntityRow(dataset("hive"), None)])).tree()
    one, _ = tree.with_entity(dataset("kafka"), -1, stored=True)
    other, _ = tree.with_entity(dataset("mysql"), -1, stored=True)
    further, _ = other.with_entity(dataset("kafka"), -1, stored=True)
    assert platforms(tree) == ["hive"]
    assert platforms(one) == ["hive", "kafka"]
    assert platforms(other) == ["hive", "mysql"]
    assert platforms(further) == ["hive", "mysql", "kafka"]
    assert platforms(tree) == ["hive"]
