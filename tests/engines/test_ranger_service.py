"""Files of Ranger's service types: each access once, with an engine's acts or a reason."""

from __future__ import annotations

import json
from importlib import resources
from zipfile import ZipFile

import pytest

from lakewarden.engines import ranger_service
from lakewarden.engines.mapping import of_model
from lakewarden.kernel.errors import BadInput, Unknown
from lakewarden.service.ranger.definition import named
from tests.http.ranger.judge import judge_home


def text() -> str:
    files = resources.files("lakewarden.engines")
    return files.joinpath("ranger-trino.toml").read_text("utf-8")


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("[accesses.drop]", "[accesses.fly]", "`fly` is no access of the service type"),
        ('"select", "insert"', '"select", "fly", "insert"', "nothing said of `fly`"),
        ('["DropSchema"]', '["DropTown"]', r'accesses."drop".opens.schema: unknown `DropTown`'),
        ('opens.catalog = ["DropC', 'opens.town = ["DropC', "unknown level `town`"),
        ('within = "catalog"', 'within = "town"', "unknown level `town`"),
        ('part = "schema"', 'part = "town"', "unknown `town`"),
        ('engine = "trino"', 'engine = "presto"', "unknown `presto`"),
        ('never = "it implies every other one"', "", "either `opens` or `never`"),
        ('never = "it implies every other one"', 'never = "x"\nwhy = "x"', "unknown key `why`"),
        ("[service]", "[service", "ranger.toml: "),
    ],
)
def test_a_malformed_file_is_refused_with_the_field(old: str, new: str, message: str) -> None:
    assert old in text()
    with pytest.raises(BadInput, match=message):
        ranger_service.read(text().replace(old, new, 1), "ranger.toml")


def test_a_service_type_that_is_not_there_is_refused() -> None:
    with pytest.raises(Unknown, match="expected one of: hdfs, hive, kafka, trino"):
        ranger_service.load("hbase")


@pytest.mark.parametrize("type", ranger_service.TYPES)
def test_the_accesses_are_those_of_rangers_own_definition(type: str) -> None:
    jars = [*judge_home().glob("lib/ranger-plugins-common-*.jar")]
    if not jars:
        pytest.skip("Ranger's policy engine is not installed")
    with ZipFile(jars[0]) as jar:
        own = json.loads(jar.read(f"service-defs/ranger-servicedef-{type}.json"))
    assert {one["name"] for one in own["accessTypes"]} == {*ranger_service.load(type).accesses}
    names = {one["name"] for one in own["resources"]}
    declared = ranger_service.load(type)
    assert {part for level in declared.levels.values() for part in named(declared, level)} <= names


@pytest.mark.parametrize("type", ranger_service.TYPES)
def test_acts_on_files_take_the_whole_of_a_table(type: str) -> None:
    """Users bound by a filter or mask get none of these; for others, the engine applies both."""
    service = ranger_service.load(type)
    opened = {
        (act, level, access.name)
        for access in service.accesses.values()
        for level, acts in access.opens.items()
        for act in acts
    }
    for act, level, access in opened:
        is_file = level == "table" and service.levels[level].located
        is_of_trino = type == "trino" and access in ("delete", "alter")
        assert is_of_trino or service.engine.acts[act].whole is is_file, act
    assert service.takes_whole(act for act, *_ in opened) is (type in ("hdfs", "trino"))
    acts = {act for act, *_ in opened}
    acts |= {act for level in service.levels.values() for act in level.any}
    operations = of_model("gravitino")[service.engine.name].operations
    assert {f"{service.engine.name}.{act}" for act in acts} <= operations.keys()
