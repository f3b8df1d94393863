"""Records of metadata files become writes: both kinds of records, and the places of errors."""

from __future__ import annotations

import json
from typing import Any

import pytest

from lakewarden.kernel.errors import BadInput
from lakewarden.pipeline.ingest.json_file import Record
from lakewarden.service.system import load_system
from lakewarden.systems.datahub.aspects.change import CHANGES, Change
from lakewarden.systems.datahub.aspects.record_names import aspect_name
from lakewarden.systems.datahub.ingest.proposal import USAGE, Write, writes

MODEL = load_system("datahub").model
DATASET = "urn:li:dataset:(urn:li:dataPlatform:hive,shop.orders,PROD)"
SNAPSHOT = "com.linkedin.pegasus2avro.metadata.snapshot.DatasetSnapshot"


def read(value: dict[str, Any], path: str = "[3]") -> list[Write | str]:
    return list(writes(Record(7, path, value), "mces.json", MODEL))


def read_write(value: dict[str, Any]) -> Write:
    (write,) = read(value)
    assert isinstance(write, Write)
    return write


def proposal(**fields: Any) -> dict[str, Any]:
    whole = {
        "entityType": "dataset",
        "entityUrn": DATASET,
        "changeType": "UPSERT",
        "aspectName": "status",
        "aspect": {"json": {"removed": False}},
    }
    return {name: value for name, value in (whole | fields).items() if value is not ...}


def test_a_proposal_is_one_write() -> None:
    assert read_write(proposal()) == Write(
        urn=DATASET,
        type="dataset",
        aspect="status",
        change=Change.PUT,
        value='{"removed":false}',
        place="mces.json: line 7: [3].aspect.json",
    )


def test_the_aspect_may_be_a_text_of_json() -> None:
    aspect = {"contentType": "application/json", "value": '{"removed": true}'}
    write = read_write(proposal(aspect=aspect))
    assert json.loads(write.value) == {"removed": True}
    assert write.place == "mces.json: line 7: [3].aspect.value"


def test_a_proposal_may_stand_below_the_key_of_the_request_and_say_no_change() -> None:
    write = read_write({"proposal": proposal(changeType=...), "async": "false"})
    assert (write.aspect, write.change) == ("status", Change.PUT)


@pytest.mark.parametrize("word", CHANGES)
def test_every_change_type_is_read(word: str) -> None:
    patch = [{"op": "add", "path": "/removed", "value": True}]
    content: object = patch if word == "PATCH" else {}
    assert read_write(proposal(changeType=word, aspect={"json": content})).change is CHANGES[word]


def test_a_deletion_needs_no_aspect() -> None:
    write = read_write(proposal(changeType="DELETE", aspectName=..., aspect=...))
    assert (write.aspect, write.change, write.value) == ("", Change.DELETE, "")


def test_of_a_schema_only_tags_terms_and_types_of_columns_are_kept() -> None:
    tagged = {"fieldPath": "iban", "globalTags": {"tags": []}, "nativeDataType": "text"}
    described = {**tagged, "description": "account"}
    aspect = {"json": {"schemaName": "x", "fields": [{"fieldPath": "id"}, described]}}
    write = read_write(proposal(aspectName="schemaMetadata", aspect=aspect))
    assert json.loads(write.value) == {"fields": [tagged]}


def test_an_aspect_without_meaning_is_kept_as_a_write_alone() -> None:
    aspect = {"json": {"schemaName": "x"}}
    write = read_write(proposal(aspectName="schemaMetadata", aspect=aspect))
    assert (write.aspect, write.value) == ("schemaMetadata", "")
    patch = read_write(
        proposal(aspectName="upstreamLineage", changeType="PATCH", aspect={"json": [1]})
    )
    assert (patch.change, patch.value) == (Change.PATCH, "")


@pytest.mark.parametrize("prefix", ["com.linkedin.pegasus2avro.common.", ""])
def test_a_snapshot_is_a_write_for_each_aspect(prefix: str) -> None:
    name = SNAPSHOT if prefix else "DatasetSnapshot"
    found = read(
        {
            "auditHeader": None,
            "proposedSnapshot": {
                name: {
                    "urn": DATASET,
                    "aspects": [
                        {f"{prefix}Status": {"removed": True}},
                        {f"{prefix}GlobalTags": {"tags": [{"tag": "urn:li:tag:pii"}]}},
                    ],
                }
            },
            "proposedDelta": None,
        }
    )
    assert [(w.type, w.aspect) for w in found if isinstance(w, Write)] == [
        ("dataset", "status"),
        ("dataset", "globalTags"),
    ]


def test_a_snapshot_may_be_a_pair_of_name_and_fields() -> None:
    body = {"urn": DATASET, "aspects": [["com.linkedin.common.Status", {"removed": True}]]}
    assert read_write({"proposedSnapshot": [SNAPSHOT, body]}).aspect == "status"


def test_a_record_of_one_field_is_not_taken_for_a_tagged_value() -> None:
    body = {"urn": DATASET, "aspects": [{"com.linkedin.common.Status": {"boolean": False}}]}
    assert read_write({"proposedSnapshot": {SNAPSHOT: body}}).value == '{"boolean":false}'


@pytest.mark.parametrize(
    ("class_name", "name"),
    [
        ("Ownership", "ownership"),
        ("GlobalTags", "globalTags"),
        ("globalTags", "globalTags"),
        ("MLModelProperties", "mlModelProperties"),
        ("DataHubPolicyInfo", "dataHubPolicyInfo"),
    ],
)
def test_aspects_are_named_after_their_classes(class_name: str, name: str) -> None:
    assert aspect_name(class_name) == name


def test_usage_statistics_are_passed_over() -> None:
    record = {"bucket": 1, "duration": "DAY", "resource": DATASET, "metrics": {}}
    assert read(record) == [USAGE]


@pytest.mark.parametrize(
    ("urn", "type", "problem"),
    [
        ("urn:li:dataset:x", "dataset", "expected 3 parts in the key of a `dataset`, got 1"),
        ("not a urn", "dataset", "expected `urn:li:type:key`, got `not a urn`"),
        ("urn:li:corpuser:ana", "dataset", "expected a URN of type `dataset`"),
        ("urn:li:corpuser:ana", "corpUser", "expected a URN of type `corpUser`"),
    ],
)
def test_a_bad_name_is_no_error_of_the_file(urn: str, type: str, problem: str) -> None:
    write = read_write(proposal(entityUrn=urn, entityType=type))
    assert write.problem.startswith(problem)


def test_the_class_of_a_snapshot_is_compared_without_case() -> None:
    body = {"urn": "urn:li:corpuser:ana", "aspects": [{"Status": {}}]}
    write = read_write({"proposedSnapshot": {"CorpUserSnapshot": body}})
    assert (write.type, write.problem) == ("corpuser", "")
    assert read_write({"proposedSnapshot": {"CorpGroupSnapshot": body}}).problem


AT = "mces.json: line 7: [3]"
LONG = f'{AT}.proposedSnapshot."{SNAPSHOT}"'
REFUSALS: dict[str, tuple[dict[str, Any], str]] = {
    "another object": ({"a": 1}, f"{AT}: expected `proposedSnapshot`, or `entityUrn`, "),
    "no type": (proposal(entityType=...), f"{AT}.entityType: expected a string"),
    "unknown change": (
        proposal(changeType="MERGE"),
        f"{AT}.changeType: unknown `MERGE`; expected one of: UPSERT, ",
    ),
    "no aspect name": (proposal(aspectName=...), f"{AT}.aspectName: expected the name of an as"),
    "no aspect": (proposal(aspect=None), f"{AT}.aspect: expected an object"),
    "an aspect without content": (
        proposal(aspect={}),
        f"{AT}.aspect: expected `json` or `value`",
    ),
    "another content type": (
        proposal(aspect={"contentType": "application/xml", "value": "<a/>"}),
        f"{AT}.aspect.contentType: expected `application/json`",
    ),
    "a malformed text": (
        proposal(aspect={"value": '{"removed": tru}'}),
        f"{AT}.aspect.value: line 1, column 13: expecting value",
    ),
    "a text that is no object": (
        proposal(aspect={"value": "[]"}),
        f"{AT}.aspect.value: expected an object",
    ),
    "a field of another type": (
        proposal(aspect={"json": {"removed": "yes"}}),
        f"{AT}.aspect.json.removed: expected true or false",
    ),
    "a field deep inside": (
        proposal(aspectName="ownership", aspect={"json": {"owners": [{"type": "NONE"}]}}),
        f"{AT}.aspect.json.owners[0].owner: expected a string",
    ),
    "a malformed patch": (
        proposal(changeType="PATCH", aspect={"json": [{"op": "move", "path": "/a"}]}),
        f"{AT}.aspect.json.patch[0].op: unknown `move`; expected one of: add, remove, replace",
    ),
    "a snapshot that is a text": (
        {"proposedSnapshot": "x"},
        f"{AT}.proposedSnapshot: expected an object under the name of its class",
    ),
    "a class that is no snapshot": (
        {"proposedSnapshot": {"Status": {}}},
        f"{AT}.proposedSnapshot: expected the name of a snapshot, got `Status`",
    ),
    "a snapshot without a URN": (
        {"proposedSnapshot": {SNAPSHOT: {"aspects": []}}},
        f"{LONG}.urn: expected a string",
    ),
    "a snapshot without aspects": (
        {"proposedSnapshot": {SNAPSHOT: {"urn": DATASET}}},
        f"{LONG}.aspects: expected a list",
    ),
    "an aspect without its class": (
        {"proposedSnapshot": {SNAPSHOT: {"urn": DATASET, "aspects": [{}]}}},
        f"{LONG}.aspects[0]: expected an object under the name of its class",
    ),
    "an aspect that is a number": (
        {"proposedSnapshot": {SNAPSHOT: {"urn": DATASET, "aspects": [{"Status": 1}]}}},
        f'{LONG}.aspects[0]."Status": expected an object',
    ),
    "a field of a snapshot": (
        {"proposedSnapshot": {SNAPSHOT: {"urn": DATASET, "aspects": [{"Status": {"removed": 1}}]}}},
        f'{LONG}.aspects[0]."Status".removed: expected true or false',
    ),
    "a delta": (
        {"proposedSnapshot": {SNAPSHOT: {}}, "proposedDelta": {"x": 1}},
        f"{AT}.proposedDelta: expected null",
    ),
}


@pytest.mark.parametrize("name", REFUSALS)
def test_an_error_is_refused_with_file_line_path_field_and_expectation(name: str) -> None:
    record, message = REFUSALS[name]
    with pytest.raises(BadInput) as refused:
        read(record)
    assert str(refused.value).startswith(message)


def test_a_record_of_a_sequence_is_named_by_its_line_alone() -> None:
    with pytest.raises(BadInput, match=r"^mces\.json: line 7\.entityType: expected a string$"):
        read(proposal(entityType=...), path="")
