"""DataHub URNs: the grammar table, the two names of one stored entity, actors."""

from __future__ import annotations

import pytest

from lakewarden.kernel.entity import NO_RESOURCE, Entity, Spelling
from lakewarden.kernel.errors import BadInput
from lakewarden.kernel.principal import Principal
from lakewarden.names.identities import IdForm
from lakewarden.systems.datahub import names as datahub

DATASET = "urn:li:dataset:(urn:li:dataPlatform:hive,shop.orders,PROD)"
FLOW = "urn:li:dataFlow:(airflow,nightly,prod)"


def test_the_module_is_a_spelling() -> None:
    spelling: Spelling = datahub
    assert spelling.parse("dataset", DATASET) == Entity("dataset", DATASET)


WELL_FORMED = [
    (DATASET, ("urn:li:dataPlatform:hive", "shop.orders", "PROD")),
    (
        "urn:li:dataset:(urn:li:dataPlatform:s3,bucket/my(1).csv,SANDBOX)",
        ("urn:li:dataPlatform:s3", "bucket/my(1).csv", "SANDBOX"),
    ),
    (f"urn:li:schemaField:({DATASET},[version=2.0].id)", (DATASET, "[version=2.0].id")),
    ("urn:li:chart:(looker,c.1)", ("looker", "c.1")),
    ("urn:li:dashboard:(looker,d.1)", ("looker", "d.1")),
    (FLOW, ("airflow", "nightly", "prod")),
    (f"urn:li:dataJob:({FLOW},load)", (FLOW, "load")),
    ("urn:li:notebook:(querybook,1234)", ("querybook", "1234")),
    (
        "urn:li:dataPlatformInstance:(urn:li:dataPlatform:mysql,eu)",
        ("urn:li:dataPlatform:mysql", "eu"),
    ),
    ("urn:li:mlFeature:(users,age)", ("users", "age")),
    (
        "urn:li:mlModel:(urn:li:dataPlatform:science,m,PROD)",
        ("urn:li:dataPlatform:science", "m", "PROD"),
    ),
    ("urn:li:container:b41c14bc5cb3ccfbb0433c8cbdef2992", ("b41c14bc5cb3ccfbb0433c8cbdef2992",)),
    ("urn:li:domain:sales", ("sales",)),
    ("urn:li:tag:Business Critical", ("Business Critical",)),
    ("urn:li:glossaryTerm:Revenue (net)", ("Revenue (net)",)),
    ("urn:li:glossaryTerm:a,b", ("a,b",)),
    ("urn:li:corpuser:name@corp.test", ("name@corp.test",)),
    ("urn:li:ownershipType:__system__technical_owner", ("__system__technical_owner",)),
    ("urn:li:allEntities:all", ("all",)),
    ("urn:li:notYetKnown:x", ("x",)),
    ("urn:li:notYetKnown:(a,(b,c),urn:li:tag:d)", ("a", "(b,c)", "urn:li:tag:d")),
    ("urn:li:dataHubStepState:urn:li:corpuser:ana-welcome", ("urn:li:corpuser:ana-welcome",)),
    ("urn:li:notYetKnown:urn:li:x", ("urn:li:x",)),
    ("urn:li:tag:caf%C3%A9%2C", ("caf%C3%A9%2C",)),
    ("urn:li:tag:café 名", ("café 名",)),
]


@pytest.mark.parametrize(("urn", "key"), WELL_FORMED)
def test_well_formed_urns_are_kept_exactly(urn: str, key: tuple[str, ...]) -> None:
    type_ = urn.split(":")[2]
    assert datahub.parse(type_, urn) == datahub.parse("", urn) == Entity(type_, urn)
    assert datahub.urn_type(urn) == type_
    assert datahub.key_parts(urn) == key
    assert datahub.parts(Entity(type_, urn)) == (urn,)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("dataset", "expected `urn:li:type:key`, got `dataset`"),
        ("urn:li:tag", "expected `urn:li:type:key`, got `urn:li:tag`"),
        ("urn:com:tag:x", "expected `urn:li:type:key`, got `urn:com:tag:x`"),
        ("URN:li:tag:x", "expected `urn:li:type:key`, got `URN:li:tag:x`"),
        ("urn%3Ali%3Atag%3Ax", "expected `urn:li:type:key`, got `urn%3Ali%3Atag%3Ax`"),
        ("urn:li:tag:", "the key of `urn:li:tag:` is empty or has a space at an end"),
        ("urn:li:tag: x", "the key of `urn:li:tag: x` is empty or has a space at an end"),
        ("urn:li:tag:x ", "the key of `urn:li:tag:x ` is empty or has a space at an end"),
        ("urn:li::x", "expected an entity type of letters and digits, got ``"),
        ("urn:li:my-tag:x", "expected an entity type of letters and digits, got `my-tag`"),
        ("urn:li:täg:x", "expected an entity type of letters and digits, got `täg`"),
        ("urn:li:tag:a\nb", "the URN holds the control character `\\n`"),
        ("urn:li:tag:" + "x" * 2_048, "the URN has 2059 bytes, at most 2048 are allowed"),
        ("urn:li:tag:(x)", "a key in parentheses needs two parts or more, got `(x)`"),
        ("urn:li:tag:(a) b", "text follows the parentheses in the key `(a) b`"),
        ("urn:li:other:(a),(b)", "text follows the parentheses in the key `(a),(b)`"),
        ("urn:li:other:(a,(b)", "a parenthesis is not closed in the key `(a,(b)`"),
        ("urn:li:other:(a,,b)", "part 2 in the key of a `other` is empty"),
        ("urn:li:other:(a,)", "part 2 in the key of a `other` is empty"),
        ("urn:li:corpuser:(a,b)", "expected 1 part in the key of a `corpuser`, got 2"),
        ("urn:li:dataset:shop.orders", "expected 3 parts in the key of a `dataset`, got 1"),
        (
            "urn:li:dataset:(urn:li:dataPlatform:hive,shop.orders)",
            "expected 3 parts in the key of a `dataset`, got 2",
        ),
        (
            "urn:li:dataset:(urn:li:dataPlatform:hive,shop,orders,PROD)",
            "expected 3 parts in the key of a `dataset`, got 4",
        ),
        (
            "urn:li:dataset:(hive,shop.orders,PROD)",
            "expected a URN of type `dataPlatform` first in a `dataset`, got `hive`",
        ),
        (
            "urn:li:dataset:(urn:li:tag:hive,shop.orders,PROD)",
            "expected a URN of type `dataPlatform` first in a `dataset`, got `urn:li:tag:hive`",
        ),
        (
            "urn:li:dataset:(hive,urn:li:dataPlatform:hive,PROD)",
            "expected a URN of type `dataPlatform` first in a `dataset`, got `hive`",
        ),
        (
            "urn:li:dataset:(urn:li:dataPlatform:hive,shop.orders,prod)",
            "unknown environment `prod` in a dataset",
        ),
        (
            "urn:li:schemaField:(orders,id)",
            "expected a URN first in a `schemaField`, got `orders`",
        ),
        (
            f"urn:li:schemaField:({DATASET},a,b)",
            "expected 2 parts in the key of a `schemaField`, got 3",
        ),
        (
            "urn:li:schemaField:(urn:li:dataset:(urn:li:dataPlatform:hive,t,Prod),id)",
            "unknown environment `Prod` in a dataset",
        ),
        (
            f"urn:li:dataJob:({DATASET},load)",
            "expected a URN of type `dataFlow` first in a `dataJob`,"
            " got `urn:li:dataset:(urn:li:dataPlatform:hive,shop.orders,PROD)`",
        ),
        (
            "urn:li:dataFlow:(airflow,urn:li:bad,prod)",
            "expected `urn:li:type:key`, got `urn:li:bad`",
        ),
    ],
)
def test_malformed_urns_are_refused_with_the_part_that_is_wrong(text: str, message: str) -> None:
    with pytest.raises(BadInput) as refusal:
        datahub.parse("", text)
    assert str(refusal.value) == message


# The arguments of acryl-datahub's URN classes: number of parts, and the first part.
PLATFORM = "urn:li:dataPlatform:hive"
ARITY = [
    ("chart", 2, "a"),
    ("dashboard", 2, "a"),
    ("dataFlow", 3, "a"),
    ("dataHubRetention", 2, "a"),
    ("dataJob", 2, FLOW),
    ("dataPlatformInstance", 2, PLATFORM),
    ("dataProcess", 3, "a"),
    ("dataset", 3, PLATFORM),
    ("metric", 3, PLATFORM),
    ("mlFeature", 2, "a"),
    ("mlFeatureTable", 2, PLATFORM),
    ("mlModel", 3, PLATFORM),
    ("mlModelDeployment", 3, PLATFORM),
    ("mlModelGroup", 3, PLATFORM),
    ("mlPrimaryKey", 2, "a"),
    ("notebook", 2, "a"),
    ("schemaField", 2, DATASET),
    ("semanticModel", 3, PLATFORM),
    ("versionSet", 2, "a"),
    ("container", 1, ""),
    ("corpGroup", 1, ""),
    ("corpuser", 1, ""),
    ("dataHubAccessToken", 1, ""),
    ("dataHubPolicy", 1, ""),
    ("dataHubRole", 1, ""),
    ("dataPlatform", 1, ""),
    ("dataProduct", 1, ""),
    ("domain", 1, ""),
    ("glossaryNode", 1, ""),
    ("glossaryTerm", 1, ""),
    ("ownershipType", 1, ""),
    ("query", 1, ""),
    ("structuredProperty", 1, ""),
    ("tag", 1, ""),
]


@pytest.mark.parametrize(("type_", "count", "first"), ARITY)
def test_known_types_have_their_number_of_parts(type_: str, count: int, first: str) -> None:
    def urn(parts: int) -> str:
        if parts == 1:
            return f"urn:li:{type_}:x"
        return f"urn:li:{type_}:({','.join([first or 'a', *['PROD'] * (parts - 1)])})"

    assert datahub.parse(type_, urn(count)).name == urn(count)
    for other in {1, 2, 3, 4} - {count}:
        with pytest.raises(BadInput, match=f"expected {count} parts? in the key of a `{type_}`"):
            datahub.parse(type_, urn(other))
    if first.startswith("urn:"):
        with pytest.raises(BadInput, match="expected a URN"):
            datahub.parse(type_, urn(count).replace(first, "a"))


def test_the_type_asked_for_must_be_the_urn_s_case_included() -> None:
    with pytest.raises(BadInput, match="expected a URN of type `chart`"):
        datahub.parse("chart", DATASET)
    with pytest.raises(BadInput, match="expected a URN of type `corpUser`"):
        datahub.parse("corpUser", "urn:li:corpuser:ana")


def test_nesting_ends_at_eight_levels() -> None:
    def nested(levels: int) -> str:
        urn = "urn:li:tag:x"
        for _ in range(levels - 1):
            urn = f"urn:li:box:({urn},y)"
        return urn

    assert datahub.urn_type(nested(8)) == "box"
    with pytest.raises(BadInput, match="nested deeper than 8 levels"):
        datahub.parse("", nested(9))
    with pytest.raises(BadInput):
        datahub.parse("", nested(130))


@pytest.mark.parametrize("environment", sorted(datahub.ENVIRONMENTS))
def test_every_environment_of_datahub_is_known(environment: str) -> None:
    urn = f"urn:li:dataset:(urn:li:dataPlatform:hive,t,{environment})"
    assert datahub.parse("dataset", urn).name == urn


def test_there_are_seventeen_environments() -> None:
    assert len(datahub.ENVIRONMENTS) == 17


def test_no_resource_and_type_only_are_spelt_as_authzen_does() -> None:
    assert datahub.parse("platform", "platform") == NO_RESOURCE
    assert datahub.parse("dataset", "") == Entity("dataset", "")
    for entity in (NO_RESOURCE, Entity("dataset", ""), Entity("schemaField", "")):
        assert datahub.parent(entity) is None
        assert datahub.parts(entity) == (entity.name,)


@pytest.mark.parametrize("type_", ["", " ", "data set", "dataset\n"])
def test_nothing_at_all_is_not_a_question_without_resource(type_: str) -> None:
    with pytest.raises(BadInput, match="expected an entity type"):
        datahub.parse(type_, "")


def test_platform_is_an_ordinary_type_but_for_its_one_name() -> None:
    with pytest.raises(BadInput, match="expected `urn:li:type:key`, got `Platform`"):
        datahub.parse("platform", "Platform")


def test_a_field_s_parent_is_what_has_the_field() -> None:
    field = datahub.parse("schemaField", f"urn:li:schemaField:({DATASET},a.b)")
    assert datahub.parent(field) == Entity("dataset", DATASET)
    form = datahub.parse("", "urn:li:schemaField:(urn:li:chart:(looker,c),x)")
    assert datahub.parent(form) == Entity("chart", "urn:li:chart:(looker,c)")


def test_a_job_s_parent_is_its_flow_and_others_have_none() -> None:
    assert datahub.parent(Entity("dataJob", f"urn:li:dataJob:({FLOW},load)")) == Entity(
        "dataFlow", FLOW
    )
    for urn in (DATASET, FLOW, "urn:li:container:1", "urn:li:box:(urn:li:tag:x,y)"):
        assert datahub.parent(datahub.parse("", urn)) is None


def test_the_wildcard_sub_resource_parses() -> None:
    assert datahub.parse("", datahub.ANY_SUBRESOURCE).type == "allEntities"


@pytest.mark.parametrize(
    ("urn", "kind"),
    [
        ("urn:li:corpuser:ana", "user"),
        ("urn:li:corpGroup:stewards", "group"),
        ("urn:li:dataHubRole:Admin", "role"),
    ],
)
def test_actors_are_users_groups_and_roles_by_their_urn(urn: str, kind: str) -> None:
    assert datahub.actor(urn) == Principal(kind, urn)


@pytest.mark.parametrize(
    "text", ["ana", "urn:li:corpUser:ana", "urn:li:tag:ana", "urn:li:corpuser:"]
)
def test_nothing_else_is_an_actor(text: str) -> None:
    with pytest.raises(BadInput):
        datahub.actor(text)


@pytest.mark.parametrize("name", ["ana", "ana@corp.test", "__datahub_system", "a:b", "Zoë B"])
def test_a_person_s_name_and_urn_are_each_other_s_inverse(name: str) -> None:
    assert datahub.name_of(datahub.user_urn(name)) == name


@pytest.mark.parametrize("name", ["", " ana", "(ana)", "(a,b)", "a\nb"])
def test_names_that_no_urn_can_carry_are_refused(name: str) -> None:
    with pytest.raises(BadInput):
        datahub.user_urn(name)


def test_a_group_is_not_a_person() -> None:
    with pytest.raises(BadInput, match="expected a URN of type `corpuser`"):
        datahub.name_of("urn:li:corpGroup:ana")
    with pytest.raises(BadInput):
        datahub.name_of("")


def test_people_are_called_by_urns_and_known_by_names() -> None:
    known = datahub.IDENTITIES
    ana, staff = (
        Principal("user", "urn:li:corpuser:ana"),
        Principal("group", "urn:li:corpGroup:staff"),
    )
    assert known.user("ana") == known.spelled(Principal("user", "ana")) == known.spelled(ana) == ana
    assert known.spelled(Principal("group", "staff")) == staff
    role = Principal("role", "Admin")
    assert known.spelled(role) == role
    assert known.subject("user", "ana") == known.subject("user", ana.name) == ana
    assert (known.principal("ana"), known.principal(staff.name)) == (None, staff)
    assert known.person(ana) == "ana"
    assert (known.person(staff), known.group(staff)) == (staff.name, "staff")
    assert known.person(Principal("user", "urn:li:corpuser:")) == "urn:li:corpuser:"
    assert known.group(ana) == ana.name
    known.check(ana)
    with pytest.raises(BadInput, match="expected the URN of a user"):
        known.check(Principal("user", staff.name))


def test_an_entity_is_named_by_its_urn_alone() -> None:
    urn = "urn:li:tag:x"
    assert datahub.IDENTITIES.entity(urn) == Entity("tag", urn)
    assert datahub.IDENTITIES.entity("x") is None
    assert [datahub.IDENTITIES.is_possible("tag", look) for look in IdForm] == [
        look is IdForm.URN for look in IdForm
    ]
