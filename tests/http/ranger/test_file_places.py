"""Paths of files: named ones, nested ones, and attempts to leave a folder."""

from __future__ import annotations

import pytest
from pyroaring import BitMap

from lakewarden.kernel.entity import Entity
from lakewarden.kernel.matrix import Matrix
from lakewarden.kernel.relations import EntityRow, Facts
from lakewarden.kernel.snapshot import compile
from lakewarden.service.ranger.file_places import Files
from lakewarden.service.residue import Residues
from lakewarden.service.system import load_system

NAMES = ("a", "b", "c")
FILE_SYSTEM = "hdfs://nn:8020"


class Placed:
    """Filesets with the addresses of their files, a table, and the schema that contains them."""

    def __init__(
        self, *addresses: str, table: str = "", schema_at: str = "", file_system: str = FILE_SYSTEM
    ) -> None:
        system = load_system("gravitino")
        schema = [Entity("metalake", "lk"), Entity("catalog", "lk:c"), Entity("schema", "lk:c.s")]
        filesets = [Entity("fileset", f"lk:c.s.{name}") for name in NAMES]
        of_table = Entity("table", "lk:c.s.t")
        entities = [*schema, *filesets, of_table]
        facts = Facts(entities=[EntityRow(one, system.spelling.parent(one)) for one in entities])
        tree = Matrix(compile(facts, system.model, system.spelling)).snapshot.coded.tree
        self.ids = {name: tree.find(one) or 0 for name, one in zip(NAMES, filesets, strict=True)}
        self.ids |= {"t": tree.find(of_table) or 0}
        self.residues = Residues()
        located = [(one, (at,)) for one, at in zip(filesets, addresses, strict=False)]
        if table:
            located.append((of_table, (table,)))
        if schema_at:
            located.append((schema[-1], (schema_at,)))
        self.files = Files(tree, located, file_system, self.residues)

    def paths(self, name: str) -> tuple[str, ...]:
        return self.files.paths(self.ids[name])

    def opened(self, *names: str) -> set[str]:
        """The accessible filesets whose folders a policy may open."""
        kept = self.files.with_all_inside(BitMap([self.ids[name] for name in names]))
        return {name for name, id in self.ids.items() if id in kept}


@pytest.mark.parametrize(
    "path",
    ["/", "/data/*", "/data/?", "/data/{USER}", "/data/${x}", "/data/a b", "/data/'x'", "/data/\\*",
     "/da\u0301ta", "/data;DROP TABLE x", "/data/\n"],
)  # fmt: skip
def test_a_path_that_ranger_would_read_otherwise_is_in_no_policy(path: str) -> None:
    placed = Placed(path)
    assert placed.paths("a") == ()
    assert {one.entity for one in placed.residues} == {"fileset:lk:c.s.a"}


@pytest.mark.parametrize(
    ("address", "path"),
    [
        ("/data/a/", "/data/a"),
        ("/data/x/../a", "/data/a"),
        ("/data//a/.", "/data/a"),
        ("/../data/a", "/data/a"),
        ("hdfs://nn:8020/data/a", "/data/a"),
        ("HDFS://NN/data/a", "/data/a"),
        ("hdfs:///data/a", "/data/a"),
        ("hdfs:/data/a", "/data/a"),
    ],
)
def test_a_folder_has_one_path_however_it_is_written(address: str, path: str) -> None:
    assert Placed(address).paths("a") == (path,)
    placed = Placed(address, "/data")
    assert placed.opened("b") == set()
    assert placed.opened("a", "b") == {"a", "b"}


OTHERWISE = (
    "hdfs://nn:9000/data/a",
    "hdfs://ops@nn:8020/data/a",
    "hdfs://nn.:8020/data/a",
    "webhdfs://nn:9870/data/a",
    "swebhdfs://NN/data/a",
    "webhdfs:///data/a",
    "//data/a",
)


@pytest.mark.parametrize("address", OTHERWISE)
def test_an_address_that_may_be_the_same_files_is_not_told_and_closes_the_folder(
    address: str,
) -> None:
    placed = Placed(address, "/data")
    assert placed.paths("a") == ()
    assert "fileset:lk:c.s.a" in {one.entity for one in placed.residues}
    assert placed.opened("b") == set()
    assert placed.opened("a", "b") == {"a", "b"}


@pytest.mark.parametrize("host", ["[2001:DB8::1]:8020", "ops@[2001:db8::1]", "[2001:db8::1]:9870"])
def test_a_host_is_the_same_by_its_number(host: str) -> None:
    placed = Placed(f"hdfs://{host}/data/a", "/data", file_system="hdfs://[2001:db8::1]:8020")
    assert placed.opened("b") == set()
    other = Placed("hdfs://[2001:db8::2]/data/a", "/data", file_system="hdfs://[2001:db8::1]:8020")
    assert other.opened("b") == {"b"}


@pytest.mark.parametrize(
    "address",
    [
        "s3a://nn/data",
        "hdfs://other/data",
        "file:///data",
        "file:/data",
        "data",
        "data/a",
        "hdfs:data",
        "hdfs://nn.other/data",
        "hdfs://nn@other/data",
        "webhdfs://other:9870/data",
    ],
)
def test_other_file_systems_are_no_business_of_the_service(address: str) -> None:
    placed = Placed(address, "/data")
    assert placed.paths("a") == ()
    assert placed.opened("b") == {"b"}


def test_a_folder_takes_the_right_on_all_that_lies_in_it() -> None:
    placed = Placed("/data", "/data/b", "/data/b/c")
    assert placed.opened("a", "b", "c") == {"a", "b", "c"}
    assert placed.opened("a", "b") == set()
    assert placed.opened("b", "c") == {"b", "c"}
    assert placed.opened("a", "c") == {"c"}
    assert placed.opened("c") == {"c"}
    assert Placed("/data", "/database").opened("a") == {"a"}


def test_two_at_one_place_take_the_right_on_both() -> None:
    placed = Placed("/data", "/data/")
    assert placed.opened("a") == set()
    assert placed.opened("a", "b") == {"a", "b"}


def test_files_that_cannot_be_named_and_those_of_tables_close_the_folder() -> None:
    assert Placed("/data", "/data/o*").opened("a") == set()
    assert Placed("/data", table="hdfs://nn/data/t").opened("a") == set()
    assert Placed("/data/t/a", table="/data/t").opened("t") == set()
    assert Placed("/", "/b").opened("a") == set()


def test_a_table_is_at_its_own_place() -> None:
    placed = Placed("/data", table="hdfs://nn/wh/s.db/t")
    assert placed.paths("t") == ("/wh/s.db/t",)
    assert placed.opened("t") == {"t"}
    assert placed.files.innermost("/wh/s.db/t/day=1/part-0") == placed.ids["t"]


def test_the_folder_of_a_schema_may_hold_tables_whose_place_is_not_stored() -> None:
    placed = Placed("/wh", table="/wh/s.db", schema_at="/wh/s.db")
    assert placed.opened("a", "t") == set()
    below = Placed(table="/wh/s.db/t", schema_at="/wh/s.db")
    assert below.opened("t") == {"t"}
    assert not [*below.residues]


def test_the_innermost_folder_has_the_file() -> None:
    placed = Placed("/data", "/data/b", "/other")
    found = {
        path: placed.files.innermost(path)
        for path in ("/data/x", "/data/b", "/data/b/../x", "/datab", "/", "")
    }
    a, b = placed.ids["a"], placed.ids["b"]
    assert [*found.values()] == [a, b, a, None, None, None]
