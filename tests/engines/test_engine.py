"""Engines as declared in their files."""

from __future__ import annotations

import pytest

from lakewarden.engines import engine
from lakewarden.kernel.errors import BadInput, Unknown
from tests.http.opa.test_served import recorded

SMALL = """
[engine]
name = "small"
title = "Small"
version = "1"
source = "none"
resources = ["table"]
[acts.Read]
resource = "table"
title = "read"
"""


def test_every_recorded_operation_is_declared_with_its_resource() -> None:
    acts = engine.load("trino").acts
    operations = recorded()
    assert {name for name, act in acts.items() if act.recorded} == set(operations)
    for name, examples in operations.items():
        for example in examples:
            action = example["request"]["input"]["action"]
            assert isinstance(action, dict)
            resources = action.get("filterResources", [action.get("resource", {})])
            for resource in resources:
                assert acts[name].resource in {*resource, "none"}, name


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('title = "read"', "", r"small.acts.\"Read\".title: expected a non-empty string"),
        ('resource = "table"', 'resource = "row"', r"small.acts.\"Read\".resource: unknown `row`"),
        ('title = "read"', 'title = "read"\nown = 1', "expected true or false"),
        ("[acts.Read]", "[other]\n[acts.Read]", "unknown key `other`"),
        ("[engine]", "[engine", "small: "),
        ('title = "read"', 'title = "read"\nenters = "Make"', "enters: unknown operation `Make`"),
    ],
)
def test_a_malformed_file_is_refused_with_its_field(old: str, new: str, message: str) -> None:
    assert set(engine.read(SMALL, "small").acts) == {"Read"}
    with pytest.raises(BadInput, match=message):
        engine.read(SMALL.replace(old, new, 1), "small")


def test_there_is_no_other_engine() -> None:
    with pytest.raises(Unknown, match="expected one of: hdfs, hive, iceberg, kafka"):
        engine.load("presto")
