"""Change records: snapshots and proposals, and the writes that they request."""

from __future__ import annotations

import json
from typing import Any

import pytest

from lakewarden.kernel.errors import BadInput
from lakewarden.systems.datahub.aspects import record
from lakewarden.systems.datahub.aspects.change import Change
from lakewarden.systems.datahub.aspects.fields import Fields
from lakewarden.systems.datahub.aspects.record_names import TIMESERIES, aspect_name, record_name

ORDERS = "urn:li:dataset:(urn:li:dataPlatform:hive,shop.orders,PROD)"


def parse(text: str, where: str) -> object:
    try:
        return json.loads(text)
    except ValueError:
        raise BadInput("no JSON", where=where) from None


def proposed(**fields: object) -> record.RecordChange:
    whole = {
        "entityUrn": ORDERS,
        "entityType": "dataset",
        "aspectName": "status",
        "aspect": {"contentType": "application/json", "value": '{"removed":true}'},
    }
    return record.proposal(Fields({**whole, **fields}, "body"), parse)


def test_a_proposal_says_what_is_to_be_written() -> None:
    said = proposed()
    assert said == record.RecordChange(
        ORDERS, "dataset", "status", Change.PUT, {"removed": True}, "body.aspect.value"
    )
    assert proposed(changeType="DELETE", aspect=None, aspectName=None).aspect == ""
    assert proposed(entityType="chart").problem
    assert proposed(entityUrn="urn:li:dataset:x").problem


@pytest.mark.parametrize(
    "fields",
    [
        {"changeType": "INVENT"},
        {"aspectName": None},
        {"aspect": None},
        {"aspect": {}},
        {"aspect": {"value": "{"}},
        {"aspect": {"contentType": "text/plain", "value": "{}"}},
        {"entityUrn": 7},
    ],
)
def test_a_proposal_that_makes_no_sense_is_refused(fields: dict[str, Any]) -> None:
    with pytest.raises(BadInput):
        proposed(**fields)


def test_a_snapshot_says_each_of_its_aspects() -> None:
    tags: dict[str, Any] = {"com.linkedin.pegasus2avro.common.GlobalTags": {"tags": []}}
    body = {"urn": "urn:li:corpuser:ana", "aspects": [tags]}
    holder = Fields({"value": {"com.linkedin.metadata.snapshot.CorpUserSnapshot": body}}, "entity")
    (said,) = record.snapshot(holder, "value")
    assert (said.type, said.aspect, said.value) == ("corpuser", "globalTags", {"tags": []})
    assert said.problem == ""


@pytest.mark.parametrize("aspect", ["globalTags", "mlModelMetrics", "dataHubExecutionRequestInput"])
def test_names_of_records_and_aspects_lead_to_each_other(aspect: str) -> None:
    assert aspect_name(record_name(aspect).rpartition(".")[2]) == aspect


def test_what_is_not_in_the_tables_has_a_name_by_rule() -> None:
    assert record_name("someAspect") == "com.linkedin.common.SomeAspect"
    assert "datasetProfile" in TIMESERIES
