"""CDAP ids: the grammar table, wildcards, bodies of both families, owner principals."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from lakewarden.kernel.entity import Entity, Spelling
from lakewarden.kernel.errors import BadInput, Unknown
from lakewarden.names.identities import IdForm
from lakewarden.systems.cdap import names as cdap
from lakewarden.systems.cdap.names import Pattern


def test_the_module_is_a_spelling() -> None:
    spelling: Spelling = cdap
    assert spelling.parse("instance", "cdap") == Entity("instance", "cdap")


# One row for each type: full id, parent, parts, fields of the older body.
IDS: list[tuple[str, Entity | None, tuple[str, ...], dict[str, str] | None]] = [
    ("instance:cdap", None, ("cdap",), {"instance": "cdap"}),
    ("namespace:sales", None, ("sales",), {"namespace": "sales"}),
    (
        "kerberosprincipal:eve/h1.corp@CORP",
        None,
        ("eve/h1.corp@CORP",),
        {"principal": "eve/h1.corp@CORP"},
    ),
    (
        "artifact:sales.etl",
        Entity("namespace", "sales"),
        ("sales", "etl"),
        {"namespace": "sales", "artifact": "etl"},
    ),
    (
        "application:sales.ingest",
        Entity("namespace", "sales"),
        ("sales", "ingest"),
        {"namespace": "sales", "application": "ingest"},
    ),
    (
        "program:sales.ingest.workflow.nightly",
        Entity("application", "sales.ingest"),
        ("sales", "ingest", "workflow.nightly"),
        {
            "namespace": "sales",
            "application": "ingest",
            "type": "workflow",
            "program": "nightly",
        },
    ),
    (
        "stream:sales.clicks",
        Entity("namespace", "sales"),
        ("sales", "clicks"),
        {"namespace": "sales", "stream": "clicks"},
    ),
    (
        "dataset:sales.com.acme.Table$1",
        Entity("namespace", "sales"),
        ("sales", "com.acme.Table$1"),
        {"namespace": "sales", "dataset": "com.acme.Table$1"},
    ),
    (
        "dataset_module:sales.com.acme.M",
        Entity("namespace", "sales"),
        ("sales", "com.acme.M"),
        {"namespace": "sales", "module": "com.acme.M"},
    ),
    (
        "dataset_type:sales.com.acme.T",
        Entity("namespace", "sales"),
        ("sales", "com.acme.T"),
        {"namespace": "sales", "type": "com.acme.T"},
    ),
    (
        "securekey:sales.dbpass",
        Entity("namespace", "sales"),
        ("sales", "dbpass"),
        {"namespace": "sales", "name": "dbpass"},
    ),
    ("profile:sales.dataproc", Entity("namespace", "sales"), ("sales", "dataproc"), None),
    ("system_service:log.saver", None, ("log.saver",), None),
]


@pytest.mark.parametrize(("text", "parent", "parts", "legacy"), IDS)
def test_every_type_is_read_taken_apart_and_written_in_each_form(
    text: str, parent: Entity | None, parts: tuple[str, ...], legacy: dict[str, str] | None
) -> None:
    type_, _, name = text.partition(":")
    entity = cdap.parse_id(text)
    assert entity == cdap.parse(type_, name) == Entity(type_, name)
    assert cdap.format_id(entity) == text
    assert cdap.parent(entity) == parent
    assert cdap.parts(entity) == parts
    body = cdap.to_authorizable(entity)
    assert body["entityType"] == type_.upper()
    assert isinstance(body["entityParts"], dict)
    assert tuple(body["entityParts"].values()) == parts
    assert cdap.from_authorizable(body) == entity
    if legacy is None:
        with pytest.raises(BadInput, match=r"no form before release 4\.3"):
            cdap.to_legacy(entity)
    else:
        older = {**legacy, "entity": type_.upper()}
        assert cdap.to_legacy(entity) == older
        assert cdap.from_authorizable(older) == entity


def test_every_type_has_a_row_above() -> None:
    assert sorted(row[0].partition(":")[0] for row in IDS) == sorted(cdap.TYPES)


def test_all_names_but_a_namespace_s_may_hold_a_hyphen() -> None:
    for text in ("program:ns.my-app.spark.my-job", "artifact:ns.my-art", "instance:my-cdap"):
        assert cdap.format_id(cdap.parse_id(text)) == text


def test_type_words_are_read_in_any_case_and_names_in_their_own() -> None:
    assert cdap.parse_id("DataSet:Sales.T") == Entity("dataset", "Sales.T")
    assert cdap.parse("STREAM", "ns.S") == Entity("stream", "ns.S")
    assert cdap.parse_id("program:ns.a.WORKER.W") == Entity("program", "ns.a.worker.W")


# The id grammar's row of the behaviour checklist (cdap reference, section 6, row 28).
@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("artifact:art", "expected 2 parts `namespace.artifact`, got 1 in `art`"),
        (
            "artifact:ns.art.1.0",
            "expected 2 parts `namespace.artifact`, got 4 in `ns.art.1.0`;"
            " a version is no part of the name, remove it",
        ),
        ("namespace:a.b", "expected 1 part `namespace`, got 2 in `a.b`"),
        ("program:ns.app", "expected 4 parts `namespace.application.type.name`, got 2 in `ns.app`"),
        ("stream:ns", "expected 2 parts `namespace.stream`, got 1 in `ns`"),
        ("stream:ns.s.x", "expected 2 parts `namespace.stream`, got 3 in `ns.s.x`"),
        ("dataset:x", "expected 2 parts `namespace.dataset`, got 1 in `x`"),
    ],
)
def test_ids_of_a_wrong_number_of_parts_are_refused_as_entity_and_as_pattern(
    text: str, message: str
) -> None:
    for read in (cdap.parse_id, cdap.parse_pattern_id):
        with pytest.raises(BadInput) as refusal:
            read(text)
        assert str(refusal.value) == message


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("program:ns.app.*", ("ns", "app", "*")),
        ("program:ns2.app1.worker.*", ("ns2", "app1", "worker.*")),
        ("program:ns.app.Work*.n?ghtly", ("ns", "app", "work*.n?ghtly")),
        ("program:*.*.*", ("*", "*", "*")),
        ("program:*.*.*.*", ("*", "*", "*.*")),
        ("dataset:sales.*", ("sales", "*")),
        ("dataset:*.*", ("*", "*")),
        ("dataset:sa*s.ds?", ("sa*s", "ds?")),
        ("dataset:ns.com.acme.*", ("ns", "com.acme.*")),
        ("namespace:*", ("*",)),
        ("artifact:?.art*", ("?", "art*")),
        ("stream:ns.*", ("ns", "*")),
        ("kerberosprincipal:*@CORP", ("*@CORP",)),
        ("instance:cd?p", ("cd?p",)),
        ("securekey:ns.k", ("ns", "k")),
    ],
)
def test_patterns_take_wildcards_anywhere(text: str, parts: tuple[str, ...]) -> None:
    pattern = cdap.parse_pattern_id(text)
    type_, _, name = text.partition(":")
    assert pattern == cdap.parse_pattern(type_.upper(), name) == Pattern(type_, parts)
    assert cdap.pattern(type_, name) == parts
    assert cdap.parse_pattern_id(cdap.format_id(pattern)) == pattern
    assert cdap.from_authorizable(cdap.to_authorizable(pattern)) in (
        pattern,
        Entity(type_, ".".join(parts)),
    )


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "program:ns.app.work*",
            "expected 4 parts `namespace.application.type.name`, got 3 in `ns.app.work*`",
        ),
        (
            "program:ns.app.?",
            "expected 4 parts `namespace.application.type.name`, got 3 in `ns.app.?`",
        ),
        (
            "program:ns.app.**",
            "expected 4 parts `namespace.application.type.name`, got 3 in `ns.app.**`",
        ),
        ("dataset:*", "expected 2 parts `namespace.dataset`, got 1 in `*`"),
        ("namespace:a-*", "the namespace name `a-*` holds `-`"),
        ("program:ns.a.cron.*", "unknown program type `cron`, expected one of"),
        ("program:ns.a.w*$.*", "the program type name `w*$` holds `$`"),
    ],
)
def test_patterns_keep_the_grammar_otherwise(text: str, message: str) -> None:
    with pytest.raises(BadInput) as refusal:
        cdap.parse_pattern_id(text)
    assert str(refusal.value).startswith(message)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("dataset", "expected `type:name`, got `dataset`"),
        ("dataset:", "the name is empty"),
        ("dataset:.x", "the namespace name is empty"),
        ("dataset:ns.", "the dataset name is empty"),
        ("dataset:ns.a b", "the dataset name `a b` holds ` `"),
        ("dataset:ns.a\u0301", "the dataset name `a\u0301` holds `\u0301`"),
        ("dataset:n-s.a", "the namespace name `n-s` holds `-`"),
        ("namespace:sales:dataset", "the namespace name `sales:dataset` holds `:`"),
        ("stream:ns.a$", "the stream name `a$` holds `$`"),
        ("application:ns.a.-SNAPSHOT", "expected 2 parts `namespace.application`, got 3"),
        ("program:ns.a.1.0.worker.w", "expected 4 parts `namespace.application.type.name`, got 6"),
        ("program:ns.a.cron.x", "unknown program type `cron`, expected one of flow, mapreduce"),
        ("program:ns.a.worker.", "the program name is empty"),
        ("program:ns.a b.worker.w", "the application name `a b` holds ` `"),
        ("instance:a.b", "expected 1 part `instance`, got 2 in `a.b`"),
        ("kerberosprincipal:", "the name is empty"),
        ("kerberosprincipal:eve\n", "the name holds the control character `\\n`"),
        ("securekey:ns." + "k" * 2_046, "the name has 2049 bytes, at most 2048 are allowed"),
    ],
)
def test_ids_outside_the_grammar_are_refused_with_the_part_that_is_wrong(
    text: str, message: str
) -> None:
    with pytest.raises(BadInput) as refusal:
        cdap.parse_id(text)
    assert str(refusal.value).startswith(message)


@pytest.mark.parametrize(
    "text",
    [
        "dataset:sales.*",
        "dataset:sa?es.x",
        "namespace:*",
        "program:ns.app.*",
        "program:ns.app.w*.x",
        "kerberosprincipal:*",
    ],
)
def test_an_entity_has_no_wildcard(text: str) -> None:
    with pytest.raises(BadInput, match="only grants take wildcards"):
        cdap.parse_id(text)


@pytest.mark.parametrize("type_", sorted(cdap.CHECKED_INSTEAD))
def test_types_without_privileges_name_the_type_that_is_checked_instead(type_: str) -> None:
    instead = cdap.CHECKED_INSTEAD[type_]
    assert instead in cdap.TYPES
    with pytest.raises(BadInput) as refusal:
        cdap.parse(type_.upper(), "ns.s.v")
    expected = f"type `{type_}` does not support authorization; its {instead} is checked instead"
    assert str(refusal.value) == expected


@pytest.mark.parametrize("type_", ["table", "", "data set", "a\nb", "STREAM_"])
def test_unknown_types_are_named_and_listed(type_: str) -> None:
    with pytest.raises(Unknown) as refusal:
        cdap.parse(type_, "ns.s")
    assert "expected one of instance, namespace" in str(refusal.value)
    assert str(refusal.value).isprintable()


@pytest.mark.parametrize(
    ("pattern", "entity", "covered"),
    [
        ("dataset:*.*", "dataset:sales.com.acme.T", True),
        ("dataset:sales.*", "dataset:sales.x", True),
        ("dataset:sales.*", "dataset:Sales.x", False),
        ("dataset:sa*s.ds?", "dataset:sales.ds1", True),
        ("dataset:sa*s.ds?", "dataset:sales.ds10", False),
        ("dataset:sales.*", "stream:sales.x", False),
        ("namespace:*", "dataset:sales.x", False),
        ("program:ns.app.*", "program:ns.app.worker.w", True),
        ("program:ns.app.workflow.*", "program:ns.app.workflow.w", True),
        ("program:ns.app.workflow.*", "program:ns.app.worker.w", False),
        ("program:ns.app.WORKFLOW.*", "program:ns.app.workflow.w", True),
        ("program:ns.app.*.w", "program:ns.app.spark.w", True),
        ("kerberosprincipal:*@CORP", "kerberosprincipal:eve/h1.corp@CORP", True),
    ],
)
def test_a_pattern_covers_what_matches_part_by_part(
    pattern: str, entity: str, covered: bool
) -> None:
    assert cdap.covers(cdap.parse_pattern_id(pattern), cdap.parse_id(entity)) is covered


def test_a_pattern_of_another_number_of_parts_covers_nothing() -> None:
    assert not cdap.covers(Pattern("dataset", ("*",)), Entity("dataset", "ns.x"))


def test_a_body_with_a_wildcard_gives_a_pattern() -> None:
    body = {
        "entityType": "PROGRAM",
        "entityParts": {"PROGRAM": "*", "NAMESPACE": "ns", "APPLICATION": "a?p"},
    }
    assert cdap.from_authorizable(body) == Pattern("program", ("ns", "a?p", "*"))


def test_the_older_body_drops_a_version_and_writes_program_types_with_a_capital() -> None:
    body = {
        "namespace": "sales",
        "application": "ingest",
        "version": "1.0",
        "type": "Workflow",
        "program": "nightly",
        "entity": "PROGRAM",
    }
    assert cdap.from_authorizable(body) == Entity("program", "sales.ingest.workflow.nightly")
    artifact = {"namespace": "ns", "artifact": "etl", "version": "2.0.0", "entity": "ARTIFACT"}
    assert cdap.from_authorizable(artifact) == Entity("artifact", "ns.etl")


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ({}, "expected text in `entityType`"),
        ({"entityType": 3, "entityParts": {}}, "expected text in `entityType`"),
        ({"entityType": "DATASET"}, "expected `NAMESPACE`, `DATASET` in `entityParts`"),
        (
            {"entityType": "DATASET", "entityParts": ["ns", "x"]},
            "expected `NAMESPACE`, `DATASET` in `entityParts`",
        ),
        (
            {"entityType": "DATASET", "entityParts": {"NAMESPACE": "ns"}},
            "expected `NAMESPACE`, `DATASET` in `entityParts`",
        ),
        (
            {"entityType": "DATASET", "entityParts": {"namespace": "ns", "dataset": "x"}},
            "expected `NAMESPACE`, `DATASET` in `entityParts`",
        ),
        (
            {
                "entityType": "DATASET",
                "entityParts": {"NAMESPACE": "ns", "APPLICATION": "a", "DATASET": "x"},
            },
            "expected `NAMESPACE`, `DATASET` in `entityParts`",
        ),
        (
            {"entityType": "DATASET", "entityParts": {"NAMESPACE": "ns", "DATASET": None}},
            "expected text in `DATASET`",
        ),
        (
            {"entityType": "DATASET", "entityParts": {"NAMESPACE": "a.b", "DATASET": "x"}},
            "the namespace name `a.b` holds `.`",
        ),
        (
            {"entityType": "ARTIFACT", "entityParts": {"NAMESPACE": "ns", "ARTIFACT": "a.1"}},
            "the artifact name `a.1` holds `.`",
        ),
        (
            {"entityType": "NAMESPACE", "entityParts": {"NAMESPACE": ""}},
            "the name is empty",
        ),
        (
            {
                "entityType": "PROGRAM",
                "entityParts": {"NAMESPACE": "ns", "APPLICATION": "a", "PROGRAM": "w"},
            },
            "expected `type.name` for the program, got `w`",
        ),
        (
            {
                "entityType": "PROGRAM",
                "entityParts": {"NAMESPACE": "ns", "APPLICATION": "a", "PROGRAM": "worker.*.b"},
            },
            "expected `type.name` for the program, got `worker.*.b`",
        ),
        (
            {
                "entityType": "NAMESPACE",
                "entityParts": {"NAMESPACE": "ns"},
                "childType": "DATASET",
            },
            "`childType` is not supported",
        ),
        (
            {"entityType": "NAMESPACE", "entityParts": {"NAMESPACE": "ns"}, "entity": "NAMESPACE"},
            "expected one of `entityType` and `entity`, got both",
        ),
        (
            {"entityType": "SCHEDULE", "entityParts": {}},
            "type `schedule` does not support authorization; its application is checked instead",
        ),
        ({"entity": "DATASET", "namespace": "ns"}, "expected text in `dataset`"),
        ({"entity": {"entityType": "DATASET"}}, "expected text in `entity`"),
        ({"entity": "PROFILE"}, "type `profile` has no form before release 4.3"),
        (
            {"entity": "DATASET", "namespace": "ns", "dataset": "*"},
            "a wildcard in `*`; only grants take wildcards",
        ),
        (
            {
                "entity": "PROGRAM",
                "namespace": "ns",
                "application": "a",
                "type": "worker.x",
                "program": "w",
            },
            "expected `type.name` for the program, got `worker.x.w`",
        ),
    ],
)
def test_bodies_that_name_nothing_are_refused(body: Mapping[str, object], message: str) -> None:
    with pytest.raises(BadInput) as refusal:
        cdap.from_authorizable(body)
    assert str(refusal.value) == message


@pytest.mark.parametrize("word", ["dataset", "Dataset", "TABLE", "\u212aERBEROSPRINCIPAL"])
def test_type_words_in_a_body_are_those_of_the_enumeration(word: str) -> None:
    for body in ({"entityType": word}, {"entity": word}):
        with pytest.raises(Unknown):
            cdap.from_authorizable(body)


def test_unknown_fields_of_a_body_are_ignored() -> None:
    body = {
        "entityType": "NAMESPACE",
        "entityParts": {"NAMESPACE": "ns"},
        "childType": None,
        "more": 1,
    }
    assert cdap.from_authorizable(body) == Entity("namespace", "ns")


@pytest.mark.parametrize(
    ("principal", "user"),
    [
        ("eve", "eve"),
        ("eve.smith", "eve.smith"),
        ("eve@CORP", "eve"),
        ("eve/h1.corp@CORP", "eve"),
    ],
)
def test_an_owner_principal_s_user_is_the_text_in_front(principal: str, user: str) -> None:
    assert cdap.user_of(principal) == user


@pytest.mark.parametrize(
    "principal",
    ["", "@CORP", "/h@CORP", "eve@", "eve/@CORP", "eve/h", "eve/", "eve/a/b@C", "eve@A@B", "e\n"],
)
def test_any_other_owner_principal_is_refused(principal: str) -> None:
    with pytest.raises(BadInput):
        cdap.user_of(principal)


def test_only_kerberos_principals_may_have_a_colon() -> None:
    assert [cdap.IDENTITIES.is_possible("application", look) for look in IdForm] == [False] * 3 + [
        True
    ]
    assert cdap.IDENTITIES.is_possible("kerberosPrincipal", IdForm.COLON)
