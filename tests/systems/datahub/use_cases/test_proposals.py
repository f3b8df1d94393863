"""Proposals: each rule of the guard allowed and denied, and nothing of a refused batch written."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from lakewarden.kernel.change import StatementAdded
from lakewarden.kernel.entity import Entity
from lakewarden.kernel.errors import BadInput
from lakewarden.kernel.statement_file import read_statements
from lakewarden.service.actor import SYSTEM, Actor
from lakewarden.service.decision_service import DecisionService
from lakewarden.service.realm import Realm
from lakewarden.service.token import issue
from lakewarden.service.write_transaction import WriteTransaction
from lakewarden.systems.datahub import names as datahub
from lakewarden.systems.datahub.aspects.change import Change
from lakewarden.systems.datahub.use_cases import aspects
from lakewarden.systems.datahub.use_cases.aspect_guard import NotAllowed, Switches
from lakewarden.systems.datahub.use_cases.aspects import Write
from lakewarden.systems.datahub.use_cases.proposals import Proposal, propose, referring, remove
from tests.service.opened_services import opened

HUB = "datahub"
ANA = Actor("ana", credential="test")
ANA_URN = Entity("corpuser", "urn:li:corpuser:ana")
BEN = Entity("corpuser", "urn:li:corpuser:ben")
STAFF = Entity("corpGroup", "urn:li:corpGroup:staff")
OTHERS = Entity("corpGroup", "urn:li:corpGroup:others")
ORDERS = Entity("dataset", "urn:li:dataset:(urn:li:dataPlatform:hive,shop.orders,PROD)")
STOCK = Entity("dataset", "urn:li:dataset:(urn:li:dataPlatform:hive,shop.stock,PROD)")
FIELD = Entity("schemaField", f"urn:li:schemaField:({ORDERS.name},id)")
SHOP = Entity("domain", "urn:li:domain:shop")
BANK = Entity("domain", "urn:li:domain:bank")
PRODUCT = Entity("dataProduct", "urn:li:dataProduct:p")
QUERY = Entity("query", "urn:li:query:q")
PII = Entity("tag", "urn:li:tag:pii")
GOLD = Entity("tag", "urn:li:tag:gold")
SHIPPED = Entity("dataHubPolicy", "urn:li:dataHubPolicy:admin-platform-policy")
OWN = Entity("dataHubPolicy", "urn:li:dataHubPolicy:own")

Item = tuple[Entity, str, object] | tuple[Entity, str, object, Change]


@pytest.fixture
def service(tmp_path: Path) -> Iterator[DecisionService]:
    """A realm in which at first only administrators have permissions."""
    closed = Realm(HUB, "datahub", settings={"bootstrap": "closed"})
    with opened(tmp_path, beside=closed) as service:
        yield service


def put(service: DecisionService, *writes: tuple[Entity, str, dict[str, Any]]) -> None:
    told = [Write(*one) for one in writes]
    service.write(
        SYSTEM, lambda transaction: aspects.write(transaction, HUB, told, "urn:li:corpuser:x")
    )


def grant(
    service: DecisionService, *privileges: str, on: Entity | None = None, **more: object
) -> None:
    """A statement for ana: on one entity, or with `where` and `constraint`."""
    table: dict[str, object] = {
        "id": f"grant-{service.state.revision}",
        "effect": "allow",
        "privileges": list(privileges),
        "to": [f"user:{ANA_URN.name}"],
        **more,
    }
    if on is not None:
        table["where"] = [{"field": "URN", "condition": "EQUALS", "values": [on.name]}]
    model = service.state.realm(HUB).system.model
    (statement,) = read_statements([table], model, datahub, "grant")
    service.write(SYSTEM, lambda transaction: transaction.change(HUB, StatementAdded(statement)))


def within(domain: Entity) -> list[dict[str, object]]:
    return [{"field": "DOMAIN", "condition": "EQUALS", "values": [domain.name]}]


def send(service: DecisionService, *items: Item, switches: Switches | None = None) -> None:
    """Ana's proposals, in one batch."""
    proposals = [
        Proposal(entity, aspect, change[0] if change else Change.PUT, value, {}, aspect)
        for entity, aspect, value, *change in items
    ]
    given = switches or Switches()
    service.write(ANA, lambda transaction: propose(transaction, HUB, proposals, ANA_URN, given))


def refused_operation(
    service: DecisionService, *items: Item, switches: Switches | None = None
) -> str:
    """The operation that refuses the batch; nothing of it is written."""
    revision = service.state.revision
    with pytest.raises(NotAllowed) as caught:
        send(service, *items, switches=switches)
    assert service.state.revision == revision
    return caught.value.request.operation


def values(service: DecisionService, entity: Entity) -> dict[str, Any]:
    with service.reading() as reading:
        found = aspects.read(reading, service.state.realm(HUB), [entity])
    return {name: aspect.value for name, aspect in found.get(entity, {}).items()}


def tags(*named: Entity) -> dict[str, Any]:
    return {"tags": [{"tag": tag.name} for tag in named]}


PROPERTIES: Item = (ORDERS, "datasetProperties", {"name": "orders"})


# creating, changing, deleting


def test_what_is_new_takes_the_right_to_create(service: DecisionService) -> None:
    assert refused_operation(service, PROPERTIES) == "entity.create"
    grant(service, "CREATE_ENTITY", on=ORDERS)
    send(service, PROPERTIES)
    assert (
        refused_operation(service, (ORDERS, "datasetProperties", {"name": "o"})) == "entity.update"
    )


def test_what_is_there_takes_the_right_to_change(service: DecisionService) -> None:
    put(service, (ORDERS, "subTypes", {}))
    assert refused_operation(service, PROPERTIES) == "entity.update"
    grant(service, "EDIT_ENTITY", on=ORDERS)
    send(service, PROPERTIES)


@pytest.mark.parametrize("change", [Change.CREATE, Change.PATCH])
def test_some_changes_count_as_such_even_of_what_is_new(
    service: DecisionService, change: Change
) -> None:
    grant(service, "CREATE_ENTITY", on=ORDERS)
    patch = [{"op": "add", "path": "/name", "value": "orders"}]
    value: object = patch if change is Change.PATCH else {"name": "orders"}
    assert (
        refused_operation(service, (ORDERS, "datasetProperties", value, change)) == "entity.update"
    )
    grant(service, "EDIT_ENTITY", on=ORDERS)
    send(service, (ORDERS, "datasetProperties", value, change))


def test_an_aspect_is_not_created_twice(service: DecisionService) -> None:
    put(service, (ORDERS, "datasetProperties", {}))
    grant(service, "EDIT_ENTITY")
    with pytest.raises(BadInput):
        send(service, (ORDERS, "datasetProperties", {"name": "orders"}, Change.CREATE))


@pytest.mark.parametrize("aspect", ["datasetProperties", "domains"])
def test_an_entity_is_not_created_twice(service: DecisionService, aspect: str) -> None:
    made: Item = (ORDERS, aspect, {"domains": [SHOP.name]}, Change.CREATE_ENTITY)
    put(service, (ORDERS, "subTypes", {}))
    assert refused_operation(service, made) == "entity.update"
    assert refused_operation(service, made, switches=Switches(domains="original"))
    grant(service, "EDIT_ENTITY", "CREATE_ENTITY", "DELETE_ENTITY")
    with pytest.raises(BadInput, match="already exists"):
        send(service, made)
    assert set(values(service, ORDERS)) == {"datasetKey", "subTypes"}
    beside: Item = (ORDERS, "subTypes", {"typeNames": ["x"]}, Change.CREATE_ENTITY)
    send(service, (ORDERS, "", None, Change.DELETE), made, beside)
    assert set(values(service, ORDERS)) == {"datasetKey", "subTypes", aspect}


@pytest.mark.parametrize("aspect", ["subTypes", "datasetKey", ""])
def test_deleting_takes_its_own_right(service: DecisionService, aspect: str) -> None:
    put(service, (ORDERS, "subTypes", {}), (ORDERS, "upstreamLineage", {}))
    grant(service, "EDIT_ENTITY", on=ORDERS)
    gone: Item = (ORDERS, aspect, None, Change.DELETE)
    assert refused_operation(service, gone) == "entity.delete"
    grant(service, "DELETE_ENTITY", on=ORDERS)
    send(service, gone)
    left = {"upstreamLineage", "datasetKey"} if aspect == "subTypes" else set()
    assert set(values(service, ORDERS)) == left


def test_an_entity_may_be_deleted_and_made_anew_in_one_batch(service: DecisionService) -> None:
    put(service, (ORDERS, "subTypes", {}))
    grant(service, "DELETE_ENTITY", on=ORDERS)
    batch: list[Item] = [(ORDERS, "datasetKey", None, Change.DELETE), PROPERTIES]
    assert refused_operation(service, *batch) == "entity.create"
    grant(service, "CREATE_ENTITY", on=ORDERS)
    send(service, *batch)
    assert set(values(service, ORDERS)) == {"datasetKey", "datasetProperties"}


def test_one_refused_element_refuses_all(service: DecisionService) -> None:
    grant(service, "CREATE_ENTITY", on=ORDERS)
    assert refused_operation(service, PROPERTIES, (STOCK, "subTypes", {})) == "entity.create"
    assert values(service, ORDERS) == {}


def test_hard_deletion_and_references_take_the_right_to_delete(service: DecisionService) -> None:
    put(service, (ORDERS, "globalTags", tags(PII)), (PII, "tagProperties", {}))

    def drop(transaction: WriteTransaction) -> bool:
        return remove(transaction, HUB, PII, Switches())

    def forget(transaction: WriteTransaction) -> int:
        return len(referring(transaction, HUB, PII, ANA_URN, Switches(), forget=True))

    for task in (drop, forget):
        with pytest.raises(NotAllowed):
            service.write(ANA, task)
    grant(service, "DELETE_ENTITY", on=PII)
    assert service.write(ANA, forget) == 1
    assert values(service, ORDERS)["globalTags"] == {"tags": []}
    assert [service.write(ANA, drop), service.write(ANA, drop)] == [True, False]


# domains of the same batch


def test_the_domain_of_the_same_batch_opens_the_way(service: DecisionService) -> None:
    grant(service, "CREATE_ENTITY", where=within(SHOP))
    assert refused_operation(service, PROPERTIES) == "entity.create"
    assert refused_operation(service, PROPERTIES, (ORDERS, "domains", {"domains": [BANK.name]}))
    send(service, PROPERTIES, (ORDERS, "domains", {"domains": [SHOP.name]}))


def test_the_domain_of_the_same_batch_opens_no_way_where_that_is_disabled(
    service: DecisionService,
) -> None:
    grant(service, "CREATE_ENTITY", where=within(SHOP))
    batch: list[Item] = [PROPERTIES, (ORDERS, "domains", {"domains": [SHOP.name]})]
    assert refused_operation(service, *batch, switches=Switches(domains=False)) == "entity.create"


def test_nothing_else_of_the_batch_opens_the_way(service: DecisionService) -> None:
    """Owners, tags, terms, containers and properties count once stored, not before."""
    box, term = "urn:li:container:box", "urn:li:glossaryTerm:t"
    owner = {"owner": ANA_URN.name, "type": "NONE"}
    ownership: Item = (ORDERS, "ownership", {"owners": [owner]})
    grant(service, "CREATE_ENTITY", "EDIT_ENTITY", to=["owners"])
    for field, value in (("TAG", PII.name), ("CONTAINER", box), ("GLOSSARY", term)):
        criterion = {"field": field, "condition": "EQUALS", "values": [value]}
        grant(service, "CREATE_ENTITY", "EDIT_ENTITY", where=[criterion])
    opening: list[Item] = [
        ownership,
        (ORDERS, "globalTags", tags(PII)),
        (ORDERS, "container", {"container": box}),
        (ORDERS, "glossaryTerms", {"terms": [{"urn": term}]}),
    ]
    for one in opening:
        assert refused_operation(service, one) == "entity.create"
        assert refused_operation(service, (ORDERS, "domains", {"domains": [BANK.name]}), one)
    assert refused_operation(service, *opening) == "entity.create"


def test_who_changes_a_domain_must_be_allowed_before_and_after(service: DecisionService) -> None:
    put(service, (ORDERS, "domains", {"domains": [BANK.name]}))
    move: Item = (ORDERS, "domains", {"domains": [SHOP.name]})
    grant(service, "EDIT_ENTITY", where=within(SHOP))
    assert refused_operation(service, move) == "entity.update"
    grant(service, "EDIT_ENTITY", where=within(BANK))
    send(service, move)


def test_who_may_before_but_not_after_is_refused_as_well(service: DecisionService) -> None:
    put(service, (ORDERS, "domains", {"domains": [BANK.name]}))
    grant(service, "EDIT_ENTITY", where=within(BANK))
    assert (
        refused_operation(service, (ORDERS, "domains", {"domains": [SHOP.name]})) == "entity.update"
    )


HR = Entity("domain", "urn:li:domain:hr")
HR_PART = Entity("domain", "urn:li:domain:hr-part")
SALES = Entity("domain", "urn:li:domain:sales")
SALES_PART = Entity("domain", "urn:li:domain:sales-part")
ROLE = Entity("dataHubRole", "urn:li:dataHubRole:Reader")
INTO_SALES: dict[str, Any] = {"domains": [SALES.name]}


def below(parent: Entity | None, name: str = "x") -> dict[str, Any]:
    return {"name": name} if parent is None else {"name": name, "parentDomain": parent.name}


@pytest.fixture
def sales(service: DecisionService) -> DecisionService:
    """Ana may do everything in sales; besides it there are hr, a role and a loose table."""
    put(
        service,
        (SALES, "domainProperties", below(None)),
        (SALES_PART, "domainProperties", below(SALES)),
        (HR, "domainProperties", below(None)),
        (HR_PART, "domainProperties", below(HR)),
        (ORDERS, "subTypes", {}),
        (STOCK, "domains", {"domains": [SALES.name]}),
        (ROLE, "dataHubRoleInfo", {"name": "Reader", "description": "", "editable": False}),
    )
    grant(service, "EDIT_ENTITY", "CREATE_ENTITY", "DELETE_ENTITY", where=within(SALES))
    return service


@pytest.mark.parametrize("change", [Change.PUT, Change.PATCH, Change.CREATE, Change.CREATE_ENTITY])
@pytest.mark.parametrize("entity", [HR, HR_PART, ORDERS, ROLE])
def test_nobody_takes_what_is_there_into_a_domain_of_theirs(
    sales: DecisionService, entity: Entity, change: Change
) -> None:
    patch = [{"op": "add", "path": "/domains", "value": [SALES.name]}]
    value: object = patch if change is Change.PATCH else INTO_SALES
    into: Item = (entity, "domains", value, change)
    owner = {"owners": [{"owner": ANA_URN.name, "type": "NONE"}]}
    assert refused_operation(sales, into) == "entity.update"
    assert refused_operation(sales, into, (entity, "ownership", owner)) == "entity.update"
    assert (
        refused_operation(sales, (STOCK, "subTypes", {"typeNames": ["x"]}), into) == "entity.update"
    )
    switches = Switches(domains=False)
    assert refused_operation(sales, into, switches=switches) == "entity.update"


def test_what_is_there_may_be_taken_where_the_original_s_way_is_asked_for(
    sales: DecisionService,
) -> None:
    original = Switches(domains="original")
    send(sales, (ORDERS, "domains", INTO_SALES), switches=original)
    put(sales, (ORDERS, "domains", {"domains": [HR.name]}))
    into: Item = (ORDERS, "domains", INTO_SALES)
    assert refused_operation(sales, into, switches=original) == "entity.update"
    role: Item = (ROLE, "domains", INTO_SALES)
    assert refused_operation(sales, role, switches=original) == "entity.update"


def test_what_is_new_may_be_made_in_a_domain_of_theirs(sales: DecisionService) -> None:
    new = Entity("domain", "urn:li:domain:new")
    batch: list[Item] = [(new, "domains", INTO_SALES), (new, "domainProperties", below(SALES))]
    send(sales, *batch)
    send(sales, (new, "domainProperties", below(SALES_PART)))
    assert values(sales, new)["domainProperties"]["parentDomain"] == SALES_PART.name


@pytest.mark.parametrize(
    ("entity", "aspect", "value", "operation"),
    [
        (SALES_PART, "domainProperties", below(HR), "child.place"),
        (SALES_PART, "domainProperties", below(HR_PART), "child.place"),
        (HR_PART, "domainProperties", below(SALES), "entity.update"),
        (HR, "domainProperties", below(SALES), "entity.update"),
        (HR_PART, "domainProperties", None, "entity.delete"),
    ],
)
def test_a_move_takes_the_right_on_what_moves_what_is_left_and_what_is_entered(
    sales: DecisionService,
    entity: Entity,
    aspect: str,
    value: dict[str, Any] | None,
    operation: str,
) -> None:
    change = Change.PUT if value is not None else Change.DELETE
    move: Item = (entity, aspect, value, change)
    assert refused_operation(sales, move) == operation
    # Nor does anything else in the same batch open it.
    steps: list[Item] = [
        (HR, "domains", INTO_SALES),
        (HR_PART, "domains", INTO_SALES),
        (SALES_PART, "domains", INTO_SALES),
    ]
    for step in steps:
        assert refused_operation(sales, step, move)
        assert refused_operation(sales, move, step)


def test_who_may_change_what_moves_may_not_take_it_from_where_it_lies(
    sales: DecisionService,
) -> None:
    grant(sales, "EDIT_ENTITY", "DELETE_ENTITY", on=HR_PART)
    for value in (below(SALES), below(None)):
        assert refused_operation(sales, (HR_PART, "domainProperties", value)) == "child.place"
    gone: Item = (HR_PART, "domainProperties", None, Change.DELETE)
    assert refused_operation(sales, gone) == "child.place"
    send(sales, (HR_PART, "domainProperties", below(HR, "renamed")))
    grant(sales, "EDIT_ENTITY", on=HR)
    send(sales, (HR_PART, "domainProperties", below(SALES)))


def test_what_is_made_below_a_domain_takes_a_right_there(sales: DecisionService) -> None:
    new = Entity("domain", "urn:li:domain:new")
    both: list[Item] = [(new, "domains", INTO_SALES), (new, "domainProperties", below(HR))]
    assert refused_operation(sales, *both) == "child.create"
    again: list[Item] = [
        (new, "domains", INTO_SALES),
        (new, "domainKey", None, Change.DELETE),
        (new, "domains", {"domains": [HR.name]}),
    ]
    assert refused_operation(sales, *again) == "entity.create"
    grant(sales, "CREATE_ENTITY", on=HR)
    send(sales, *both)


GROUP, OTHER_GROUP = (Entity("glossaryNode", f"urn:li:glossaryNode:{one}") for one in "ab")
TERM = Entity("glossaryTerm", "urn:li:glossaryTerm:t")
BOX, OTHER_BOX = (Entity("container", f"urn:li:container:{one}") for one in "ab")


@pytest.mark.parametrize(
    ("entity", "aspect", "key", "left", "entered"),
    [
        (TERM, "glossaryTermInfo", "parentNode", GROUP, OTHER_GROUP),
        (
            Entity("glossaryNode", "urn:li:glossaryNode:n"),
            "glossaryNodeInfo",
            "parentNode",
            GROUP,
            OTHER_GROUP,
        ),
        (ORDERS, "container", "container", BOX, OTHER_BOX),
        (Entity("container", "urn:li:container:c"), "container", "container", BOX, OTHER_BOX),
        (
            Entity("dataJob", "urn:li:dataJob:(urn:li:dataFlow:(airflow,f,PROD),j)"),
            "container",
            "container",
            BOX,
            OTHER_BOX,
        ),
    ],
)
def test_what_is_made_below_a_term_group_or_container_takes_a_right_there(
    service: DecisionService, entity: Entity, aspect: str, key: str, left: Entity, entered: Entity
) -> None:
    info: dict[str, Any] = {} if aspect == "container" else {"definition": ""}
    name: dict[str, Any] = {"name": "x", "definition": ""}
    own = "containerProperties" if left is BOX else "glossaryNodeInfo"
    put(service, (left, own, name), (entered, own, name))
    put(service, (entity, aspect, {**info, key: left.name}))
    move: Item = (entity, aspect, {**info, key: entered.name})
    grant(service, "EDIT_ENTITY", on=entity)
    assert refused_operation(service, move) == "child.place"
    grant(service, "EDIT_ENTITY", on=left)
    assert refused_operation(service, move) == "child.place"
    grant(service, "EDIT_ENTITY", on=entered)
    send(service, move)
    grant(service, "DELETE_ENTITY", on=entity)
    send(service, (entity, aspect, None, Change.DELETE))


PLATFORM = [
    ("dataHubRole", "MANAGE_POLICIES"),
    ("dataHubConnection", "MANAGE_CONNECTIONS"),
    ("dataHubExecutionRequest", "MANAGE_INGESTION"),
    ("dataHubPolicy", "MANAGE_POLICIES"),
    ("dataHubRetention", "APPLY_RETENTION_PRIVILEGE"),
    ("dataHubSecret", "MANAGE_SECRETS"),
    ("dataHubView", "MANAGE_GLOBAL_VIEWS"),
    ("globalSettings", "MANAGE_GLOBAL_SETTINGS"),
    ("inviteToken", "MANAGE_USER_CREDENTIALS"),
    ("post", "MANAGE_GLOBAL_ANNOUNCEMENTS"),
    ("telemetry", "MANAGE_GLOBAL_SETTINGS"),
]


@pytest.mark.parametrize(("type", "privilege"), PLATFORM)
def test_what_belongs_to_the_platform_takes_a_privilege_of_the_platform(
    service: DecisionService, type: str, privilege: str
) -> None:
    metadata = ("EDIT_ENTITY", "CREATE_ENTITY", "DELETE_ENTITY")
    form = "(dataset,{})" if type == "dataHubRetention" else "{}"
    there, new = (Entity(type, f"urn:li:{type}:{form.format(one)}") for one in ("there", "new"))
    put(service, (there, "status", {"removed": False}))
    grant(service, *metadata)
    makes: Item = (new, "subTypes", {})
    changes: Item = (there, "subTypes", {})
    assert refused_operation(service, makes) == "entity.create"
    assert refused_operation(service, (new, "domains", INTO_SALES), makes) == "entity.create"
    assert refused_operation(service, changes) == "entity.update"
    assert refused_operation(service, (there, f"{type}Key", None, Change.DELETE)) == "entity.delete"
    grant(service, privilege)
    send(service, makes, changes)


# policies, roles, groups


def policy(title: str) -> dict[str, Any]:
    return {
        "displayName": title,
        "description": "",
        "type": "PLATFORM",
        "state": "ACTIVE",
        "privileges": ["MANAGE_TAGS"],
        "actors": {"users": [ANA_URN.name], "resourceOwners": False},
        "editable": True,
    }


def test_policies_take_the_right_to_manage_policies(service: DecisionService) -> None:
    grant(service, "EDIT_ENTITY", "CREATE_ENTITY", "DELETE_ENTITY")
    assert refused_operation(service, (OWN, "dataHubPolicyInfo", policy("a"))) == "entity.create"
    grant(service, "MANAGE_POLICIES")
    send(service, (OWN, "dataHubPolicyInfo", policy("a")))
    send(service, (OWN, "dataHubPolicyInfo", policy("b")))
    assert values(service, OWN)["dataHubPolicyInfo"]["displayName"] == "b"


@pytest.mark.parametrize("rest", [True, False])
def test_what_the_system_ships_stays_as_it_is(service: DecisionService, *, rest: bool) -> None:
    grant(service, "MANAGE_POLICIES")
    switches = Switches(rest=rest)
    changed: Item = (SHIPPED, "dataHubPolicyInfo", policy("mine"))
    assert refused_operation(service, changed, switches=switches) == "policy.update"
    gone: Item = (SHIPPED, "dataHubPolicyInfo", None, Change.DELETE)
    assert refused_operation(service, gone, switches=switches) == "policy.update"
    whole: Item = (SHIPPED, "dataHubPolicyKey", None, Change.DELETE)
    assert refused_operation(service, whole, switches=switches) == "policy.update"
    send(service, (SHIPPED, "dataHubPolicyInfo", values(service, SHIPPED)["dataHubPolicyInfo"]))


@pytest.mark.parametrize("member", [BEN, STAFF, ANA_URN])
def test_roles_take_the_right_to_manage_policies(service: DecisionService, member: Entity) -> None:
    grant(service, "MANAGE_USERS_AND_GROUPS", "EDIT_ENTITY", "CREATE_ENTITY")
    roles: Item = (member, "roleMembership", {"roles": ["urn:li:dataHubRole:Admin"]})
    assert refused_operation(service, roles) == "role_membership.edit"
    send(service, (member, "roleMembership", {"roles": []}), switches=Switches(rest=False))
    send(service, (member, "roleMembership", {"roles": []}))
    grant(service, "MANAGE_POLICIES")
    send(service, roles)


@pytest.mark.parametrize(
    ("aspect", "key"), [("groupMembership", "groups"), ("nativeGroupMembership", "nativeGroups")]
)
def test_groups_take_the_right_to_each_that_changes(
    service: DecisionService, aspect: str, key: str
) -> None:
    put(service, (BEN, aspect, {key: [STAFF.name]}))
    grant(service, "UPDATE_USERS")
    both: Item = (BEN, aspect, {key: [STAFF.name, OTHERS.name]})
    assert refused_operation(service, both) == "group.members.edit"
    assert refused_operation(service, (BEN, aspect, {key: []})) == "group.members.edit"
    send(service, (BEN, aspect, {key: [STAFF.name]}))
    grant(service, "EDIT_GROUP_MEMBERS", on=OTHERS)
    send(service, both)
    assert refused_operation(service, (BEN, aspect, {key: []})) == "group.members.edit"
    grant(service, "MANAGE_USERS_AND_GROUPS")
    send(service, (BEN, aspect, {key: []}))


# tags with constraints


def grant_gold_only(service: DecisionService, privilege: str) -> None:
    """Ana may change only the tag `gold`."""
    gold = [{"field": "URN", "condition": "EQUALS", "values": [GOLD.name]}]
    grant(service, privilege, where=_dataset(), constraint=gold)


def _dataset() -> list[dict[str, object]]:
    return [{"field": "TYPE", "condition": "EQUALS", "values": ["dataset"]}]


def test_tags_that_come_or_go_are_asked_about_one_by_one(service: DecisionService) -> None:
    put(service, (ORDERS, "globalTags", tags(PII)))
    # A limited permission to write the entity: the changed tags must be within it.
    grant_gold_only(service, "EDIT_ENTITY")
    send(service, (ORDERS, "globalTags", tags(PII, GOLD)))
    assert refused_operation(service, (ORDERS, "globalTags", tags(GOLD))) == "tags.edit"
    other = Entity("tag", "urn:li:tag:other")
    assert refused_operation(service, (ORDERS, "globalTags", tags(PII, GOLD, other))) == "tags.edit"
    send(
        service,
        (ORDERS, "globalTags", tags(GOLD)),
        switches=Switches(constraints=False),
    )
    grant(service, "EDIT_ENTITY", on=ORDERS)
    send(service, (ORDERS, "globalTags", tags(other)))


@pytest.mark.parametrize(
    ("aspect", "key"),
    [("schemaMetadata", "fields"), ("editableSchemaMetadata", "editableSchemaFieldInfo")],
)
def test_tags_of_columns_too(service: DecisionService, aspect: str, key: str) -> None:
    def columns(*named: Entity) -> dict[str, Any]:
        return {key: [{"fieldPath": "id", "globalTags": tags(*named)}]}

    put(service, (ORDERS, aspect, columns(PII)))
    grant_gold_only(service, "EDIT_ENTITY")
    assert refused_operation(service, (ORDERS, aspect, columns())) == "column.tags.edit"
    send(service, (ORDERS, aspect, columns(PII, GOLD)))
    moved = {key: [{"fieldPath": "sum", "globalTags": tags(PII, GOLD)}]}
    assert refused_operation(service, (ORDERS, aspect, moved)) == "column.tags.edit"
    grant(service, "EDIT_DATASET_COL_TAGS")
    send(service, (ORDERS, aspect, columns()))


def test_tags_of_columns_that_are_no_dataset_s_are_plain_tags(service: DecisionService) -> None:
    odd = Entity("mlFeatureTable", "urn:li:mlFeatureTable:(urn:li:dataPlatform:feast,t)")
    schema = {"fields": [{"fieldPath": "id", "globalTags": tags(PII)}]}
    grant(service, "CREATE_ENTITY")
    assert refused_operation(service, (odd, "schemaMetadata", schema)) == "tags.edit"
    grant(service, "EDIT_ENTITY_TAGS")
    send(service, (odd, "schemaMetadata", schema))


_AVRO = "com.linkedin.pegasus2avro.common.GlobalTags"


@pytest.mark.parametrize(
    ("aspect", "value"),
    [
        ("globalTags", {"tags": {"array": [{"tag": PII.name}]}}),
        ("globalTags", {"tags": [{"com.linkedin.x.TagAssociation": {"tag": PII.name}}]}),
        ("globalTags", {"tags": [{"tag": {"string": PII.name}}]}),
        (
            "editableSchemaMetadata",
            {"editableSchemaFieldInfo": [{"fieldPath": "id", "globalTags": {_AVRO: tags(PII)}}]},
        ),
        (
            "schemaMetadata",
            {"fields": {"array": [{"fieldPath": {"string": "id"}, "globalTags": tags(PII)}]}},
        ),
    ],
)
def test_no_spelling_hides_a_tag(
    service: DecisionService, aspect: str, value: dict[str, Any]
) -> None:
    grant_gold_only(service, "EDIT_ENTITY")
    operation = "tags.edit" if aspect == "globalTags" else "column.tags.edit"
    put(service, (ORDERS, "status", {"removed": False}))
    assert refused_operation(service, (ORDERS, aspect, value)) == operation


# soft deletion


@pytest.mark.parametrize("change", [Change.PUT, Change.PATCH])
def test_soft_deletion_takes_the_right_to_change(service: DecisionService, change: Change) -> None:
    """Like every other change by ingestion; no other permission is checked."""
    put(service, (ORDERS, "status", {"removed": False}))
    grant(service, "DELETE_ENTITY", "EDIT_ENTITY_STATUS", on=ORDERS)
    for removed in (True, False):
        patch = [{"op": "add", "path": "/removed", "value": removed}]
        value: object = patch if change is Change.PATCH else {"removed": removed}
        changed: Item = (ORDERS, "status", value, change)
        if removed:
            assert refused_operation(service, changed, PROPERTIES) == "entity.update"
            grant(service, "EDIT_ENTITY", on=ORDERS)
        send(service, changed, PROPERTIES)
        assert values(service, ORDERS)["status"] == {"removed": removed}


def test_what_is_new_may_be_removed_from_the_first_by_whoever_may_create_it(
    service: DecisionService,
) -> None:
    grant(service, "CREATE_ENTITY", on=ORDERS)
    send(service, (ORDERS, "status", {"removed": True}))
    assert refused_operation(service, (ORDERS, "status", {"removed": False})) == "entity.update"


def test_to_take_the_status_away_is_to_delete(service: DecisionService) -> None:
    put(service, (ORDERS, "status", {"removed": True}), (ORDERS, "subTypes", {}))
    grant(service, "EDIT_ENTITY", on=ORDERS)
    assert refused_operation(service, (ORDERS, "status", None, Change.DELETE)) == "entity.delete"


# data products


def product(*assets: Entity) -> dict[str, Any]:
    return {"name": "p", "assets": [{"destinationUrn": asset.name} for asset in assets]}


def in_domains(*domains: Entity) -> tuple[Entity, str, dict[str, Any]]:
    return PRODUCT, "domains", {"domains": [domain.name for domain in domains]}


def of_product(**properties: object) -> tuple[Entity, str, dict[str, Any]]:
    return PRODUCT, "dataProductProperties", properties


@pytest.mark.parametrize("privilege", ["CREATE_ENTITY", "EDIT_ENTITY"])
def test_a_new_data_product_takes_the_right_to_create_it_or_to_change_it(
    service: DecisionService, privilege: str
) -> None:
    grant(service, "MANAGE_DATA_PRODUCTS", on=SHOP)
    told = of_product(description="of nobody yet")
    assert refused_operation(service, told, in_domains(SHOP)) == "entity.create"
    grant(service, privilege, on=PRODUCT)
    send(service, told)
    assert values(service, PRODUCT)["dataProductProperties"] == told[2]


@pytest.mark.parametrize("change", [Change.PUT, Change.CREATE_ENTITY])
@pytest.mark.parametrize("domains", [True, False])
def test_its_first_name_takes_the_right_to_change_it_or_in_a_domain_of_the_batch(
    service: DecisionService, change: Change, *, domains: bool
) -> None:
    """Regardless of whether domains of the same batch count for policies."""
    switches = Switches(domains=domains)
    grant(service, "CREATE_ENTITY", on=PRODUCT)
    grant(service, "MANAGE_DATA_PRODUCTS", on=BANK)
    named: Item = (*of_product(name="p"), change)
    assert refused_operation(service, named, switches=switches) == "data_product.rename"
    for other in (in_domains(), in_domains(SHOP)):
        operation = refused_operation(service, named, other, switches=switches)
        assert operation == "data_product.rename_with_domains"
    send(service, named, in_domains(SHOP, BANK), switches=switches)


def test_whoever_may_change_a_data_product_needs_no_domain(service: DecisionService) -> None:
    """Like the client: its type and members first, then its domains."""
    grant(service, "EDIT_ENTITY", on=PRODUCT)
    grant(service, "EDIT_ENTITY_DATA_PRODUCTS", on=ORDERS)
    send(service, of_product(**product(ORDERS)))
    send(service, in_domains(SHOP))
    patch = [{"op": "add", "path": "/name", "value": "other"}]
    send(service, (PRODUCT, "dataProductProperties", patch, Change.PATCH))
    assert values(service, PRODUCT)["dataProductProperties"]["name"] == "other"


def test_a_data_product_that_a_patch_makes_takes_the_right_to_change_it(
    service: DecisionService,
) -> None:
    patch = [{"op": "add", "path": f"/assets/{ORDERS.name}", "value": product(ORDERS)["assets"]}]
    made: Item = (PRODUCT, "dataProductProperties", patch, Change.PATCH)
    grant(service, "CREATE_ENTITY", on=PRODUCT)
    assert refused_operation(service, made) == "entity.update"
    grant(service, "EDIT_ENTITY", on=PRODUCT)
    assert refused_operation(service, made) == "data_product.assets.change"
    grant(service, "MANAGE_DATA_PRODUCTS", on=SHOP)
    assert refused_operation(service, made) == "data_product.assets.change"
    send(service, made, in_domains(SHOP))


def test_a_rename_by_ingestion_is_open_to_whoever_may_ingest(service: DecisionService) -> None:
    """It only requires the permission for any change of the product."""
    put(service, of_product(name="p"), in_domains(SHOP, BANK))
    renamed = of_product(name="other")
    grant(service, "MANAGE_DATA_PRODUCTS", on=BANK)
    assert refused_operation(service, renamed) == "entity.update"
    products = {"field": "TYPE", "condition": "EQUALS", "values": ["dataProduct"]}
    grant(service, "EDIT_ENTITY", where=[*within(SHOP), products])
    send(service, renamed)
    send(service, of_product(name="p"), in_domains(SHOP))


def test_assets_take_the_right_in_one_domain_or_to_each_that_changes(
    service: DecisionService,
) -> None:
    put(service, of_product(**product(ORDERS)), in_domains(BANK, SHOP))
    grant(service, "EDIT_ENTITY", on=PRODUCT)
    more = of_product(**product(ORDERS, STOCK))
    assert refused_operation(service, more) == "data_product.assets.change"
    send(service, of_product(**{**product(ORDERS), "name": "other"}))
    grant(service, "EDIT_ENTITY_DATA_PRODUCTS", on=STOCK)
    send(service, more)
    none = of_product(**product())
    assert refused_operation(service, none) == "data_product.assets.change"
    grant(service, "MANAGE_DATA_PRODUCTS", on=SHOP)
    assert (
        refused_operation(service, none, in_domains(BANK))
        == "data_product.assets.change_with_domains"
    )
    send(service, none)


def test_assets_of_a_new_data_product_take_the_same(service: DecisionService) -> None:
    grant(service, "CREATE_ENTITY", on=PRODUCT)
    made = of_product(assets=product(ORDERS, STOCK)["assets"])
    assert refused_operation(service, made) == "data_product.assets.change"
    grant(service, "EDIT_ENTITY_DATA_PRODUCTS", on=ORDERS)
    assert (
        refused_operation(service, made, in_domains(SHOP))
        == "data_product.assets.change_with_domains"
    )
    grant(service, "EDIT_ENTITY", on=STOCK)
    send(service, made)


# queries


def subjects(*named: Entity) -> dict[str, Any]:
    return {"subjects": [{"entity": one.name} for one in named]}


@pytest.mark.parametrize("change", [Change.PUT, Change.CREATE])
def test_a_new_query_takes_the_right_to_all_its_subjects(
    service: DecisionService, change: Change
) -> None:
    grant(service, "CREATE_ENTITY", "EDIT_ENTITY", on=QUERY)
    batch: Item = (QUERY, "querySubjects", subjects(FIELD, STOCK), change)
    assert refused_operation(service, batch) == "entity.create"
    grant(service, "EDIT_ENTITY_QUERIES", on=ORDERS)
    assert refused_operation(service, batch) == "entity.create"
    grant(service, "EDIT_ENTITY_QUERIES", on=STOCK)
    send(service, batch)


def test_a_query_s_old_and_new_subjects_are_asked_about(service: DecisionService) -> None:
    put(service, (QUERY, "querySubjects", subjects(ORDERS)))
    named: Item = (QUERY, "queryProperties", {"name": "q"})
    assert refused_operation(service, named) == "entity.update"
    grant(service, "EDIT_ENTITY_QUERIES", on=ORDERS)
    send(service, named)
    moved: Item = (QUERY, "querySubjects", subjects(STOCK))
    assert refused_operation(service, moved) == "query.create"
    assert refused_operation(service, (QUERY, "", None, Change.DELETE), moved)
    grant(service, "EDIT_ENTITY_QUERIES", on=STOCK)
    send(service, moved)
    send(service, (QUERY, "", None, Change.DELETE))


# logical parents


HIVE = Entity("dataPlatform", "urn:li:dataPlatform:hive")
MODEL = Entity("dataset", "urn:li:dataset:(urn:li:dataPlatform:model,orders,PROD)")
LOGICAL: dict[str, Any] = {"logical": True}


def column(of: Entity, path: str = "id") -> Entity:
    return Entity("schemaField", f"urn:li:schemaField:({of.name},{path})")


def parent(of: Entity | None) -> dict[str, Any]:
    return {} if of is None else {"parent": {"destinationUrn": of.name}}


def test_a_logical_parent_takes_the_right_to_both_sides(service: DecisionService) -> None:
    put(service, (ORDERS, "subTypes", {}), (HIVE, "dataPlatformInfo", LOGICAL))
    grant(service, "EDIT_ENTITY", on=ORDERS)
    linked: Item = (ORDERS, "logicalParent", parent(STOCK))
    assert refused_operation(service, linked) == "logical_parent.set"
    grant(service, "EDIT_ENTITY", on=STOCK)
    send(service, linked)


@pytest.mark.by_day(8)
@pytest.mark.parametrize(
    ("child", "above", "told"),
    [
        (ORDERS, STOCK, "expected a parent on a logical platform"),
        (FIELD, column(STOCK), "expected a parent on a logical platform"),
        (FIELD, STOCK, "expected a parent on a logical platform"),
        (ORDERS, column(MODEL, "other"), "has no column `other`"),
        (FIELD, column(MODEL, "other"), "has no column `other`"),
        (column(ORDERS, "other"), column(MODEL), "has no column `other`"),
        (MODEL, MODEL, "is not its own logical parent"),
        (ORDERS, column(PRODUCT), "expected a dataset or a column of one"),
        (ORDERS, MODEL, ""),
        (ORDERS, column(MODEL), ""),
        (FIELD, MODEL, ""),
        (FIELD, column(MODEL), ""),
    ],
)
@pytest.mark.parametrize("change", [Change.PUT, Change.PATCH])
def test_a_logical_parent_is_on_a_logical_platform_and_its_column_is_there(
    service: DecisionService, child: Entity, above: Entity, told: str, change: Change
) -> None:
    put(
        service,
        (Entity("dataPlatform", "urn:li:dataPlatform:model"), "dataPlatformInfo", LOGICAL),
        *(
            (one, "schemaMetadata", {"fields": [{"fieldPath": "id"}]})
            for one in (ORDERS, STOCK, MODEL)
        ),
    )
    value: object = parent(above)
    if change is Change.PATCH:
        value = [{"op": "add", "path": "/parent", "value": parent(above)["parent"]}]
    item: Item = (child, "logicalParent", value, change)
    grant(service, "EDIT_ENTITY", "CREATE_ENTITY", on=child)
    if above != child:
        assert refused_operation(service, item) == "logical_parent.set"
    grant(service, "EDIT_ENTITY")
    if not told:
        send(service, item)
        return
    with pytest.raises(BadInput, match=told) as raised:
        send(service, item)
    assert str(raised.value).startswith("logicalParent.parent.destinationUrn: ")


def test_what_is_shipped_as_a_logical_platform_is_one_until_something_else_is_said(
    service: DecisionService,
) -> None:
    grant(service, "EDIT_ENTITY", "CREATE_ENTITY")
    platform = Entity("dataPlatform", "urn:li:dataPlatform:logical")
    model = Entity("dataset", f"urn:li:dataset:({platform.name},orders,PROD)")
    linked: Item = (ORDERS, "logicalParent", parent(model))
    send(service, linked)
    send(service, (ORDERS, "logicalParent", parent(None)))
    put(service, (platform, "dataPlatformInfo", {"name": "logical"}))
    with pytest.raises(BadInput, match="expected a parent on a logical platform"):
        send(service, linked)


def test_a_logical_parent_that_stays_is_asked_about_all_the_same(service: DecisionService) -> None:
    put(service, (ORDERS, "logicalParent", parent(STOCK)))
    grant(service, "EDIT_ENTITY", on=ORDERS)
    assert (
        refused_operation(service, (ORDERS, "logicalParent", parent(STOCK))) == "logical_parent.set"
    )
    grant(service, "EDIT_ENTITY", on=STOCK)
    send(service, (ORDERS, "logicalParent", parent(STOCK)))


def test_to_clear_one_takes_the_right_to_the_child_alone(service: DecisionService) -> None:
    put(service, (ORDERS, "logicalParent", parent(STOCK)))
    assert refused_operation(service, (ORDERS, "logicalParent", parent(None))) == "entity.update"
    grant(service, "EDIT_ENTITY", on=ORDERS)
    send(service, (ORDERS, "logicalParent", parent(None)))


# switched off, and written back


def test_with_the_switch_off_everything_goes_through_undecided(service: DecisionService) -> None:
    send(
        service,
        PROPERTIES,
        (BEN, "roleMembership", {"roles": ["urn:li:dataHubRole:Admin"]}),
        (PRODUCT, "dataProductProperties", product(ORDERS)),
        (ORDERS, "status", {"removed": True}),
        switches=Switches(rest=False),
    )
    assert values(service, ORDERS)["status"] == {"removed": True}


EVERYTHING: list[tuple[Entity, str, dict[str, Any]]] = [
    (ORDERS, "globalTags", tags(PII)),
    (ORDERS, "status", {"removed": True}),
    (ORDERS, "domains", {"domains": [SHOP.name]}),
    (ORDERS, "logicalParent", parent(STOCK)),
    (ORDERS, "schemaMetadata", {"fields": [{"fieldPath": "id", "globalTags": tags(PII)}]}),
    (BEN, "roleMembership", {"roles": ["urn:li:dataHubRole:Reader"]}),
    (BEN, "groupMembership", {"groups": [STAFF.name]}),
    (BEN, "nativeGroupMembership", {"nativeGroups": [OTHERS.name]}),
    (PRODUCT, "dataProductProperties", product(ORDERS)),
    (OWN, "dataHubPolicyInfo", policy("own")),
    (Entity("somethingNew", "urn:li:somethingNew:(a,b)"), "someAspect", {"a": [1, None]}),
]


def test_what_is_read_may_be_written_back_unchanged_by_whoever_may_write(
    service: DecisionService,
) -> None:
    """T-34; and unchanged parts only require the permission to write."""
    put(service, *EVERYTHING)
    grant(service, "EDIT_ENTITY", "UPDATE_USERS", "MANAGE_POLICIES")
    entities = list(dict.fromkeys(entity for entity, _, _ in EVERYTHING))
    before = {entity: values(service, entity) for entity in entities}
    statements = dict(service.state.realm(HUB).matrix.snapshot.table.statements)
    back: list[Item] = [
        (entity, name, value) for entity, found in before.items() for name, value in found.items()
    ]
    send(service, *back)
    assert {entity: values(service, entity) for entity in entities} == before
    assert service.state.realm(HUB).matrix.snapshot.table.statements == statements


def test_what_is_kept_of_a_token_takes_the_right_to_all_tokens(service: DecisionService) -> None:
    made = service.write(SYSTEM, lambda transaction: issue(transaction, "ben", HUB, seconds=60.0))
    kept = Entity("dataHubAccessToken", f"urn:li:dataHubAccessToken:{made.token.id}")
    info = {"name": "x", "actorUrn": BEN.name, "ownerUrn": BEN.name}
    put(service, (kept, "dataHubAccessTokenInfo", info))
    grant(service, "EDIT_ENTITY", "DELETE_ENTITY", "CREATE_ENTITY")
    mine: Item = (kept, "dataHubAccessTokenInfo", {**info, "ownerUrn": ANA_URN.name})
    assert refused_operation(service, mine) == "token.manage"
    with pytest.raises(NotAllowed) as caught:
        service.write(ANA, lambda transaction: remove(transaction, HUB, kept, Switches()))
    assert caught.value.request.operation == "token.manage"
    grant(service, "MANAGE_ACCESS_TOKENS")
    send(service, mine)
    assert service.write(ANA, lambda transaction: remove(transaction, HUB, kept, Switches()))
    assert made.token.digest not in service.state.tokens
