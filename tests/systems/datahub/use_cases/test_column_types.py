"""Types of a dataset's columns, from its schema."""

from __future__ import annotations

from lakewarden.expressions.types import Type
from lakewarden.kernel.entity import Entity
from lakewarden.systems.datahub.use_cases.aspects import ASPECTS
from lakewarden.systems.datahub.use_cases.column_types import column_types

URN = "urn:li:dataset:(urn:li:dataPlatform:hive,shop.orders,PROD)"
DATASET = Entity("dataset", URN)


def test_plain_columns_have_the_types_of_their_platform() -> None:
    fields = [
        {"fieldPath": "region", "nativeDataType": "varchar(20)"},
        {"fieldPath": "parts.name", "nativeDataType": "string"},
        {"fieldPath": "[version=2.0].[type=string].v", "nativeDataType": "string"},
        {"fieldPath": "at", "nativeDataType": "timestamp"},
        {"fieldPath": "shape", "nativeDataType": "geometry"},
        {"fieldPath": "untyped"},
        "no field",
    ]
    document = {ASPECTS: {"schemaMetadata": {"value": {"fields": fields}}}}
    found = {one.name: one for one in column_types(DATASET, document)}
    assert {name: one.kind for name, one in found.items()} == {
        "region": Type.STRING,
        "shape": Type.NULL,
    }
    assert found["region"].entity == Entity("schemaField", f"urn:li:schemaField:({URN},region)")


def test_a_dataset_without_a_schema_has_none() -> None:
    assert list(column_types(DATASET, {})) == []
    odd = {ASPECTS: {"schemaMetadata": {"value": {"fields": "none"}}}}
    assert list(column_types(DATASET, odd)) == []
