"""Properties of the DataHub model, beyond its scenarios."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from lakewarden import models
from lakewarden.kernel.entity import Entity
from lakewarden.kernel.expression import (
    ANCESTORS,
    Anyone,
    At,
    Every,
    Holds,
    May,
    Nobody,
    Node,
    Or,
    Some,
    children,
)
from lakewarden.kernel.model import ANY, NONE, Operation, Reach
from lakewarden.kernel.principal import ALL_USERS, Principal
from lakewarden.kernel.statement import Anything, Owners, Statement, Where
from lakewarden.service.defaults import built_in, default_statements
from lakewarden.service.system import load_system
from lakewarden.systems.datahub import names as spelling

OPEN = "entity.view_open"

SYSTEM = load_system("datahub")
DATAHUB = SYSTEM.model
FILE = tomllib.loads(models.text("datahub"))
REGISTER = Path(__file__).parents[1] / "register" / "datahub.toml"
ROWS = tomllib.loads(REGISTER.read_text("utf-8"))["row"]
TABLE_ROWS = [row for row in ROWS if not row["id"].startswith("DH-GUIDE")]

ROOT = Principal("user", "urn:li:corpuser:datahub")
SYSTEM_ACTOR = Principal("user", "urn:li:corpuser:__datahub_system")
ADMIN, EDITOR, READER = (
    Principal("role", f"urn:li:dataHubRole:{name}") for name in ("Admin", "Editor", "Reader")
)
BOOTSTRAPS = ("current", "seed", "closed")

READ = frozenset({"VIEW_ENTITY_PAGE", "GET_ENTITY_PRIVILEGE", "EDIT_ENTITY", "DELETE_ENTITY"})
EXISTS = frozenset(
    {"EXISTS_ENTITY", "EDIT_ENTITY", "DELETE_ENTITY", "VIEW_ENTITY_PAGE", "SEARCH_PRIVILEGE"}
)


def nodes(rule: Node) -> Iterator[Node]:
    yield rule
    for child in children(rule):
        yield from nodes(child)


def all_nodes(operation: Operation) -> Iterator[Node]:
    for rule in operation.rules.values():
        yield from nodes(rule)


def alternatives(operation: str, type: str) -> frozenset[str]:
    """The privileges that each suffice alone, for a request about the entity itself."""

    def unfold(node: Node) -> frozenset[str]:
        match node:
            case Holds(privilege):
                return frozenset({privilege})
            case Nobody():
                return frozenset()
            case Or(parts):
                return frozenset().union(*map(unfold, parts))
            case May(name):
                return alternatives(name, type)
            case _:
                raise AssertionError(f"{operation} on {type} is no choice of privileges: {node}")

    return unfold(DATAHUB.operation(operation).rule(type))


def statements(bootstrap: str) -> dict[str, Statement]:
    system = load_system("datahub", {"bootstrap": bootstrap})
    prefix = "urn:li:dataHubPolicy:"
    return {s.id.removeprefix(prefix): s for s in default_statements(system)}


CURRENT = statements("current")


# The register.


@pytest.mark.parametrize(("prefix", "count"), [("PLAT", 37), ("COM", 47), ("ENT", 29), ("DER", 12)])
def test_the_register_holds_every_row_of_the_guides_tables(prefix: str, count: int) -> None:
    ids = [row["id"] for row in ROWS if row["id"].startswith(f"DH-{prefix}-")]
    assert ids == [f"DH-{prefix}-{number:02}" for number in range(1, count + 1)]


def test_the_other_statements_of_the_guide_follow_the_tables() -> None:
    others = ROWS[len(TABLE_ROWS) :]
    assert [row["id"] for row in others] == [f"DH-GUIDE-{n:02}" for n in range(1, len(others) + 1)]


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row["id"])
def test_each_row_names_declared_operations_and_privileges(row: dict[str, Any]) -> None:
    assert row.get("operations") or row.get("privileges")
    for name in row.get("operations", ()):
        assert DATAHUB.operation(name).name == name
    for name in row.get("privileges", ()):
        assert DATAHUB.privilege(name).name == name


@pytest.mark.parametrize("row", TABLE_ROWS, ids=lambda row: row["id"])
def test_each_operation_and_privilege_cites_the_rows_that_it_comes_from(
    row: dict[str, Any],
) -> None:
    for name in row.get("operations", ()):
        assert row["id"] in DATAHUB.operation(name).source
    for name in row.get("privileges", ()):
        assert row["id"] in DATAHUB.privilege(name).source


@pytest.mark.parametrize("row", TABLE_ROWS, ids=lambda row: row["id"])
def test_the_privilege_of_a_row_is_asked_for_by_an_operation_of_that_row(
    row: dict[str, Any],
) -> None:
    for name in row.get("privileges", ()):
        rules = [node for op in row["operations"] for node in unfolded(DATAHUB.operation(op))]
        assert Holds(name) in rules or name == "VIEW_ENTITY", name


def unfolded(operation: Operation) -> Iterator[Node]:
    for node in all_nodes(operation):
        yield node
        if isinstance(node, May):
            yield from unfolded(DATAHUB.operation(node.operation))


@pytest.mark.parametrize("name", sorted(DATAHUB.operations))
def test_each_operation_says_what_it_is_and_where_its_rule_comes_from(name: str) -> None:
    operation = DATAHUB.operations[name]
    assert operation.title != name
    assert operation.source


# Privileges.


@pytest.mark.parametrize("name", sorted(DATAHUB.privileges))
def test_every_privilege_gates_an_operation(name: str) -> None:
    operations = DATAHUB.operations.values()
    cloud = load_system("datahub", {"views": "cloud"}).model.operations.values()
    assert any(Holds(name) in all_nodes(operation) for operation in (*operations, *cloud))


def test_every_privilege_reaches_the_very_entity_and_may_be_granted() -> None:
    for privilege in DATAHUB.privileges.values():
        assert privilege.reach is Reach.EXACTLY
        assert privilege.grantable


@pytest.mark.parametrize(
    ("with_suffix", "without"),
    [
        ("EDIT_DOMAINS_PRIVILEGE", "EDIT_ENTITY_DATA_PRODUCTS"),
        ("EDIT_DEPRECATION_PRIVILEGE", "EDIT_ENTITY_STATUS"),
        ("EDIT_ENTITY_APPLICATIONS_PRIVILEGE", "EDIT_ENTITY_OWNERS"),
        ("EDIT_DATASET_COL_BUSINESS_ATTRIBUTE_PRIVILEGE", "EDIT_DATASET_COL_TAGS"),
        ("GET_ENTITY_PRIVILEGE", "VIEW_ENTITY_PAGE"),
        ("GET_ANALYTICS_PRIVILEGE", "VIEW_ANALYTICS"),
        ("ES_EXPLAIN_QUERY_PRIVILEGE", "GET_PLATFORM_EVENTS"),
        ("SEARCH_PRIVILEGE", "EXISTS_ENTITY"),
    ],
)
def test_constants_are_as_irregular_as_the_systems_own(with_suffix: str, without: str) -> None:
    assert with_suffix in DATAHUB.privileges
    assert with_suffix.removesuffix("_PRIVILEGE") not in DATAHUB.privileges
    assert without in DATAHUB.privileges
    assert f"{without}_PRIVILEGE" not in DATAHUB.privileges


def test_exactly_the_privileges_without_a_resource_are_offered_for_no_type() -> None:
    titles = {p.title for p in DATAHUB.privileges.values() if not p.on}
    rows = [row for row in ROWS if row["id"].startswith("DH-PLAT")]
    platform = {DATAHUB.privilege(name).title for row in rows for name in row["privileges"]}
    assert platform < titles
    assert len(titles) == 54
    assert "View Entity Page" not in titles


@pytest.mark.parametrize(
    ("type", "count", "some"),
    [
        ("dataset", 13 + 18, "EDIT_DATASET_COL_TAGS EDIT_ENTITY_ASSERTIONS DATA_READ_ONLY"),
        ("dashboard", 2 + 18, "EDIT_LINEAGE EDIT_ENTITY_EMBED"),
        ("dataFlow", 18, "EDIT_ENTITY_INCIDENTS"),
        ("dataJob", 1 + 18, "EDIT_LINEAGE"),
        ("container", 4 + 18, "DATA_LIST_ENTITIES"),
        ("tag", 8, "EDIT_TAG_COLOR EDIT_ENTITY_DOCS"),
        ("domain", 10, "MANAGE_DATA_PRODUCTS EDIT_ENTITY_DOC_LINKS"),
        ("dataProduct", 12, "EDIT_DOMAINS_PRIVILEGE EDIT_ENTITY_GLOSSARY_TERMS"),
        ("glossaryNode", 12, "MANAGE_GLOSSARY_CHILDREN MANAGE_ALL_GLOSSARY_CHILDREN"),
        ("corpGroup", 9, "EDIT_GROUP_MEMBERS EDIT_CONTACT_INFO"),
        ("corpuser", 7, "EDIT_USER_PROFILE EDIT_CONTACT_INFO"),
        ("dataPlatformInstance", 6, "DATA_MANAGE_NAMESPACES"),
    ],
)
def test_what_policies_are_offered_for_a_type(type: str, count: int, some: str) -> None:
    everywhere = {"VIEW_ENTITY_PAGE", "EDIT_ENTITY", "DELETE_ENTITY", "CREATE_ENTITY"}
    everywhere |= {"EXISTS_ENTITY"}
    never_there = {
        "glossaryNode": {"DELETE_ENTITY"},
        "corpGroup": {"DELETE_ENTITY"},
        "corpuser": {"DELETE_ENTITY"},
        "dataPlatformInstance": everywhere,
    }
    later = {"EDIT_DATASET_COL_PROPERTIES", "CREATE_ENTITY_ER_MODEL_RELATIONSHIP"}
    offered = {
        name
        for name, p in DATAHUB.privileges.items()
        if type in p.on and "cloud" not in p.flags and name not in later
    }
    assert set(some.split()) <= offered
    assert len(offered | (everywhere - never_there.get(type, set()))) == count


def test_flags_are_the_guides_footnotes_and_our_own_doubt() -> None:
    flags = {flag for p in DATAHUB.privileges.values() for flag in p.flags}
    assert flags == {"cloud", "deprecated", "rest", "inferred"}


@pytest.mark.parametrize(
    ("name", "flags"),
    [
        ("CREATE_CONSTRAINTS", {"deprecated", "inferred"}),
        ("MANAGE_TESTS", {"cloud"}),
        ("MANAGE_GLOBAL_SETTINGS", {"cloud"}),
        ("VIEW_ENTITY", {"cloud"}),
        ("SHARE_ENTITY", {"cloud", "inferred"}),
        ("RESTORE_INDICES_PRIVILEGE", {"rest"}),
        ("GET_COUNTS_PRIVILEGE", {"rest"}),
        ("EDIT_DATASET_COL_PROPERTIES", {"inferred"}),
        ("EDIT_ENTITY", set()),
    ],
)
def test_a_privilege_has_the_flags_of_its_row(name: str, flags: set[str]) -> None:
    assert set(DATAHUB.privileges[name].flags) == flags


def test_every_privilege_about_proposals_is_of_the_cloud_and_inferred() -> None:
    for name, privilege in DATAHUB.privileges.items():
        if name.startswith("PROPOSE_") or "Proposals" in privilege.title:
            assert set(privilege.flags) == {"cloud", "inferred"}, name


def test_only_seeing_the_page_implies_anything() -> None:
    implied = {n: p.implied_by for n, p in DATAHUB.privileges.items() if p.implied_by}
    assert implied == {"VIEW_ENTITY": ("VIEW_ENTITY_PAGE",)}


def test_everybody_holds_what_reads_an_entity_on_oneself() -> None:
    assert DATAHUB.self_privileges == READ


# Types and fields.


@pytest.mark.parametrize("name", sorted(set(DATAHUB.types) - {ANY}))
def test_every_type_can_be_asked_about_by_itself_and_is_judged_by_its_name(name: str) -> None:
    assert spelling.parse(name, "") == Entity(name, "")
    assert DATAHUB.judged(name)


def test_types_that_nobody_declared_are_taken_as_they_come() -> None:
    assert DATAHUB.open_types
    DATAHUB.check_type("dataHubExecutionRequestOfTomorrow")


@pytest.mark.parametrize(
    ("type", "kind"), [("corpuser", "user"), ("corpGroup", "group"), ("dataHubRole", "role")]
)
def test_a_principal_is_named_by_its_urn(type: str, kind: str) -> None:
    urn = f"urn:li:{type}:x"
    assert DATAHUB.principal_kind(Entity(type, urn)) == (kind, urn)


@pytest.mark.parametrize(
    ("word", "field"),
    [
        ("RESOURCE_TYPE", "TYPE"),
        ("resource_urn", "URN"),
        ("Domain", "DOMAIN"),
        ("PARENT_DOMAIN", "PARENT_DOMAIN"),
    ],
)
def test_fields_are_found_by_old_names_and_in_any_case(word: str, field: str) -> None:
    assert DATAHUB.field_of(word).name == field


def test_the_fields_are_those_of_the_system() -> None:
    assert set(DATAHUB.fields) == {
        "TYPE",
        "URN",
        "OWNER",
        "DOMAIN",
        "CONTAINER",
        "TAG",
        "GLOSSARY",
        "GROUP_MEMBERSHIP",
        "DATA_PLATFORM_INSTANCE",
        "STRUCTURED_PROPERTY",
        "PARENT_DOMAIN",
        "PARENT_GLOSSARY_NODE",
        "COLUMN_TAG",
        "COLUMN_GLOSSARY",
    }
    assert {name for name, field in DATAHUB.fields.items() if not field.grants} == {
        "COLUMN_TAG",
        "COLUMN_GLOSSARY",
    }


def test_a_domain_container_or_term_counts_itself_where_only_its_ancestors_would() -> None:
    itself = {name: set(field.itself) for name, field in DATAHUB.fields.items() if field.itself}
    assert itself == {
        "DOMAIN": {"domain"},
        "CONTAINER": {"container"},
        "GLOSSARY": {"glossaryTerm", "glossaryNode"},
        "COLUMN_GLOSSARY": {"glossaryTerm", "glossaryNode"},
        "DATA_PLATFORM_INSTANCE": {"dataPlatformInstance"},
    }
    for name in ("PARENT_DOMAIN", "PARENT_GLOSSARY_NODE"):
        assert DATAHUB.fields[name].origin == ("parent",)


# REST operations: the table of ApiOperation, each cell a choice.


@pytest.mark.parametrize(
    ("operation", "type", "privileges"),
    [
        ("entity.create", "dataset", {"CREATE_ENTITY", "EDIT_ENTITY"}),
        ("entity.read", "dataset", READ),
        ("entity.update", "dataset", {"EDIT_ENTITY"}),
        ("entity.delete", "dataset", {"DELETE_ENTITY"}),
        ("entity.exists", "dataset", EXISTS),
        ("entity.execute", "dataset", {"EXECUTE_ENTITY"}),
        ("lineage.create", "dataset", {"EDIT_ENTITY", "EDIT_LINEAGE"}),
        ("lineage.read", "dataset", READ | {"EDIT_LINEAGE"}),
        ("lineage.update", "dataset", {"EDIT_ENTITY", "EDIT_LINEAGE"}),
        ("lineage.delete", "dataset", {"EDIT_ENTITY", "DELETE_ENTITY", "EDIT_LINEAGE"}),
        (
            "lineage.exists",
            "dataset",
            READ | {"EDIT_LINEAGE", "EXISTS_ENTITY", "SEARCH_PRIVILEGE"},
        ),
        ("relationship.create", "dataset", {"EDIT_ENTITY"}),
        ("relationship.read", "dataset", READ - {"DELETE_ENTITY"}),
        ("relationship.update", "dataset", {"EDIT_ENTITY"}),
        ("relationship.delete", "dataset", {"EDIT_ENTITY", "DELETE_ENTITY"}),
        ("relationship.exists", "dataset", READ | {"EXISTS_ENTITY", "SEARCH_PRIVILEGE"}),
        ("analytics.create", NONE, set()),
        (
            "analytics.read",
            NONE,
            {"VIEW_ANALYTICS", "GET_ANALYTICS_PRIVILEGE", "MANAGE_SYSTEM_OPERATIONS"},
        ),
        ("analytics.update", NONE, set()),
        ("analytics.delete", NONE, set()),
        (
            "analytics.exists",
            NONE,
            {
                "VIEW_ANALYTICS",
                "GET_ANALYTICS_PRIVILEGE",
                "MANAGE_SYSTEM_OPERATIONS",
                "SEARCH_PRIVILEGE",
            },
        ),
        ("timeseries.create", "dataset", {"EDIT_ENTITY"}),
        (
            "timeseries.read",
            "dataset",
            {"GET_TIMESERIES_ASPECT_PRIVILEGE", "EDIT_ENTITY", "DELETE_ENTITY"},
        ),
        ("timeseries.update", "dataset", {"EDIT_ENTITY"}),
        ("timeseries.delete", "dataset", {"DELETE_ENTITY"}),
        ("timeseries.exists", "dataset", EXISTS | {"GET_TIMESERIES_ASPECT_PRIVILEGE"}),
        ("counts.create", NONE, set()),
        ("counts.read", NONE, {"GET_COUNTS_PRIVILEGE"}),
        ("counts.update", NONE, set()),
        ("counts.delete", NONE, set()),
        ("counts.exists", NONE, set()),
    ],
)
def test_a_rest_operation_takes_one_of_these(
    operation: str, type: str, privileges: set[str]
) -> None:
    assert alternatives(operation, type) == privileges


@pytest.mark.parametrize(
    ("type", "create", "read", "update", "delete"),
    [
        (
            "dataHubPolicy",
            "MANAGE_POLICIES",
            "GENERIC",
            "MANAGE_POLICIES",
            "MANAGE_POLICIES",
        ),
        (
            "corpuser",
            "CREATE_USERS_AND_GROUPS MANAGE_USERS_AND_GROUPS CREATE_USERS UPDATE_USERS",
            "GENERIC",
            "UPDATE_USERS_AND_GROUPS MANAGE_USERS_AND_GROUPS UPDATE_USERS",
            "MANAGE_USERS_AND_GROUPS UPDATE_USERS",
        ),
        (
            "corpGroup",
            "CREATE_USERS_AND_GROUPS MANAGE_USERS_AND_GROUPS CREATE_GROUPS UPDATE_GROUPS",
            "GENERIC",
            "UPDATE_USERS_AND_GROUPS MANAGE_USERS_AND_GROUPS UPDATE_GROUPS",
            "MANAGE_USERS_AND_GROUPS UPDATE_GROUPS",
        ),
        (
            "dataHubIngestionSource",
            "MANAGE_INGESTION",
            "GENERIC",
            "EDIT_ENTITY MANAGE_INGESTION",
            "DELETE_ENTITY MANAGE_INGESTION",
        ),
        (
            "document",
            "CREATE_ENTITY EDIT_ENTITY MANAGE_DOCUMENTS",
            "GENERIC MANAGE_DOCUMENTS",
            "EDIT_ENTITY MANAGE_DOCUMENTS",
            "DELETE_ENTITY MANAGE_DOCUMENTS",
        ),
        (
            "globalSettings",
            "MANAGE_GLOBAL_SETTINGS",
            "GENERIC MANAGE_GLOBAL_SETTINGS",
            "MANAGE_GLOBAL_SETTINGS",
            "MANAGE_GLOBAL_SETTINGS",
        ),
        (
            "structuredProperty",
            "MANAGE_STRUCTURED_PROPERTIES",
            "VIEW_ENTITY_PAGE MANAGE_STRUCTURED_PROPERTIES",
            "EDIT_ENTITY MANAGE_STRUCTURED_PROPERTIES",
            "DELETE_ENTITY MANAGE_STRUCTURED_PROPERTIES",
        ),
        (
            "dataHubSecret",
            "MANAGE_SECRETS",
            "MANAGE_SECRETS",
            "MANAGE_SECRETS",
            "MANAGE_SECRETS",
        ),
        (
            "dataHubAccessToken",
            "MANAGE_ACCESS_TOKENS CREATE_ENTITY EDIT_ENTITY",
            "GENERIC MANAGE_ACCESS_TOKENS",
            "MANAGE_ACCESS_TOKENS EDIT_ENTITY",
            "MANAGE_ACCESS_TOKENS DELETE_ENTITY",
        ),
    ],
)
def test_a_type_with_a_row_of_its_own_takes_what_that_row_says(
    type: str, create: str, read: str, update: str, delete: str
) -> None:
    cells = {"create": create, "read": read, "update": update, "delete": delete}
    for verb, cell in cells.items():
        words = set(cell.split())
        expected = (words - {"GENERIC"}) | (READ if "GENERIC" in words else set())
        assert alternatives(f"entity.{verb}", type) == expected, verb


@pytest.mark.parametrize("type", ["globalSettings", "structuredProperty", "dataHubAccessToken"])
def test_three_types_have_one_more_way_to_learn_that_something_exists(type: str) -> None:
    assert len(alternatives("entity.exists", type) - EXISTS) == 1


@pytest.mark.parametrize("type", ["dataHubPolicy", "corpuser", "corpGroup", "document"])
def test_what_a_row_of_its_own_leaves_out_is_denied(type: str) -> None:
    assert alternatives("entity.execute", type) == frozenset()


def test_ones_own_rights_do_not_let_one_change_or_delete_oneself_by_rest() -> None:
    for operation in ("entity.update", "entity.delete"):
        assert not alternatives(operation, "corpuser") & DATAHUB.self_privileges


@pytest.mark.parametrize(
    "name",
    [n for n in DATAHUB.operations if n.startswith(("system.", "events."))],
)
def test_managing_system_operations_stands_in_for_every_one_of_them(name: str) -> None:
    assert "MANAGE_SYSTEM_OPERATIONS" in alternatives(name, NONE)
    assert len(alternatives(name, NONE)) == (1 if name == "system.manage" else 2)


# Edits of metadata.


@pytest.mark.parametrize("name", [name for name in DATAHUB.operations if name.endswith(".edit")])
def test_every_edit_takes_its_privilege_or_that_of_editing_anything(name: str) -> None:
    if name in ("monitors.edit", "sql_assertion_monitors.edit"):
        assert len(alternatives(name, "dataset")) == 1, "EDIT_ENTITY does not stand in for it"
    elif name != "role_membership.edit":
        type = next(iter(DATAHUB.operations[name].rules))
        assert "EDIT_ENTITY" in alternatives(name, type)
        assert len(alternatives(name, type)) == 2


@pytest.mark.parametrize("name", [n for n in DATAHUB.operations if n.startswith("column.")])
def test_columns_are_edited_by_a_right_on_their_dataset(name: str) -> None:
    assert set(DATAHUB.operations[name].rules) == {"dataset"}


def test_soft_deletion_takes_what_deletion_takes() -> None:
    assert alternatives("soft_delete", "dataset") == {"DELETE_ENTITY"}
    assert alternatives("soft_delete", "corpuser") == alternatives("entity.delete", "corpuser")


@pytest.mark.parametrize(
    "name", [n for n in DATAHUB.operations if n.startswith("proposal.") and n != "proposal.view"]
)
def test_proposals_are_made_and_decided_also_by_who_may_edit(name: str) -> None:
    operation = DATAHUB.operations[name]
    for rule in operation.rules.values():
        assert {Holds("EDIT_ENTITY"), Holds("MANAGE_GLOSSARIES")} & set(nodes(rule))


# Derived rules.


def test_a_product_is_managed_through_any_of_its_domains() -> None:
    for name in ("data_product.update", "data_product.delete", "data_product.assets.change_page"):
        rule = DATAHUB.operations[name].rule("dataProduct")
        assert isinstance(rule, Some)
        assert rule.source == "product_domain"
        assert {Holds("MANAGE_DATA_PRODUCTS"), Holds("EDIT_ENTITY")} < set(nodes(rule))


def test_the_older_list_of_domains_is_not_read_beside_the_associations() -> None:
    for operation in DATAHUB.operations.values():
        sources = {n.source for n in all_nodes(operation) if isinstance(n, (Some, Every))}
        assert "domain" not in sources


def test_every_asset_that_changes_and_every_subject_is_asked_about() -> None:
    assets = DATAHUB.operations["data_product.assets.change"].rule("dataProduct")
    assert any(isinstance(n, Every) and n.source == "request.assets" for n in nodes(assets))
    for name, source in (
        ("query.create", "request.subjects"),
        ("query.update", "subject"),
        ("query.delete", "subject"),
        ("query.read", "subject"),
    ):
        rule = DATAHUB.operations[name].rule("query")
        assert isinstance(rule, Every)
        assert rule.source == source


def test_a_column_that_is_a_subject_stands_for_its_dataset() -> None:
    assert dict(DATAHUB.relations["subject"].within) == {"schemaField": "dataset"}
    created = DATAHUB.operations["query.create"].rule("query")
    assert any(isinstance(n, At) and n.selector == "dataset" for n in nodes(created))


@pytest.mark.parametrize("verb", ["create", "update", "delete"])
def test_ingestion_asks_the_subjects_of_a_query_too(verb: str) -> None:
    assert DATAHUB.operations[f"entity.{verb}"].rule("query") == May(f"query.{verb}")


@pytest.mark.parametrize("type", ["dataset", "schemaField"])
def test_both_sides_of_a_logical_link_are_asked_the_same(type: str) -> None:
    side = DATAHUB.operations["logical_parent.clear"].rule(type)
    both = DATAHUB.operations["logical_parent.set"].rule(type)
    assert children(both) == (side, At("request.logical", side))


def test_the_glossary_is_walked_upwards_for_one_privilege_only() -> None:
    rule = DATAHUB.operations["glossary.change_child"].rule("glossaryNode")
    walks = [n for n in nodes(rule) if isinstance(n, Some)]
    assert walks == [Some(ANCESTORS, Holds("MANAGE_ALL_GLOSSARY_CHILDREN"))]


# Views.


def test_on_the_cloud_search_asks_view_entity_of_every_type_but_queries() -> None:
    cloud = load_system("datahub", {"views": "cloud"}).model
    rules = cloud.operations["entity.search_view"].rules
    assert Holds("VIEW_ENTITY") in nodes(rules[ANY])
    assert Holds("VIEW_ENTITY") in nodes(rules["schemaField"])
    assert rules["query"] == May("query.read")
    assert DATAHUB.operations["entity.search_view"].rules[ANY] == May("entity.view")
    access = load_system("datahub", {"views": "access"}).model.operations["entity.search_view"]
    assert May("entity.view_open") in nodes(access.rules[ANY])


@pytest.mark.parametrize(
    "type",
    ["dataset", "schemaField", "tag"],
)
def test_a_restricted_type_is_viewed_by_whoever_may_read_it(type: str) -> None:
    guarded = load_system("datahub", {"view_authorization": "on"}).model.operations
    assert guarded["entity.view"].rule(type) == Or((May("entity.view_open"), May("entity.read")))
    assert guarded["entity.view_open"].rule(type) == Nobody()
    assert guarded["entity.read"].rule("query") == May("query.read")


def test_without_view_authorization_everybody_views_everything_and_that_is_told() -> None:
    assert DATAHUB.operations["entity.view"].rules == {ANY: Anyone()}
    (told,) = DATAHUB.weakened
    assert "`view_authorization` is off: everybody is shown every page" in told
    assert load_system("datahub", {"view_authorization": "on"}).model.weakened == ()


def test_the_guide_and_the_newest_tree_differ_on_containers_only() -> None:
    guide = load_system("datahub", {"unrestricted": "guide"}).model.operations[OPEN].rules
    today = DATAHUB.operations[OPEN].rules
    assert {type for type in today if today[type] != guide[type]} == {"container"}
    assert guide["container"] == Nobody()
    assert today["container"] == today["corpuser"] == Anyone()


def test_without_unrestricted_types_every_entity_is_asked_about() -> None:
    strict = load_system("datahub", {"unrestricted": "none"}).model
    assert set(strict.operations[OPEN].rules.values()) == {Nobody()}


def test_an_operator_opens_types_in_any_case_and_restricts_all_others() -> None:
    given = {"view_open": "DataSet, tag", "view_restricted": "any"}
    model = load_system("datahub", given).model
    assert model.settings["view_open"] == "dataset,tag"
    rules = model.operations[OPEN].rules
    assert rules == {ANY: Nobody(), "dataset": Anyone(), "tag": Anyone()}
    fewer = load_system("datahub", {"view_restricted": "container"}).model.operations[OPEN].rules
    assert (fewer["container"], fewer["corpuser"]) == (Nobody(), Anyone())


# Pre-baked policies.


@pytest.mark.parametrize(
    ("name", "size"),
    [("P37", 37), ("GUIDE37", 37), ("VIEW3", 3), ("READ7", 7), ("EDIT20", 20), ("ALL", 135)],
)
def test_a_set_of_privileges_has_no_more_and_no_fewer(name: str, size: int) -> None:
    assert len(FILE["sets"][name]) == len(set(FILE["sets"][name])) == size


def test_the_system_actor_holds_everything_whatever_is_configured() -> None:
    (statement,) = built_in(SYSTEM)
    assert statement.principals == {SYSTEM_ACTOR}
    assert statement.privileges == set(DATAHUB.privileges)
    assert statement.scope == Anything()


@pytest.mark.parametrize(
    ("id", "size"),
    [
        ("0", 37),
        ("1", 19),
        ("admin-platform-policy", 37),
        ("admin-metadata-policy", 38),
        ("editor-platform-policy", 11),
        ("editor-metadata-policy", 32),
        ("editor-metadata-policy-entities", 1),
        ("reader-platform-policy", 0),
        ("reader-metadata-policy", 11),
        ("asset-owners-metadata-policy", 34),
        ("7", 2),
        ("view-entity-page-all", 7),
        ("view-dataset-sensitive", 3),
        ("root-domain-manage-data-products-policy", 1),
        ("admin-domain-manage-data-products-policy", 1),
        ("editor-domain-manage-data-products-policy", 1),
    ],
)
def test_a_shipped_policy_gives_as_many_privileges_as_it_does_today(id: str, size: int) -> None:
    assert len(CURRENT[id].privileges) == size


def test_nothing_else_is_shipped() -> None:
    assert len(CURRENT) == 16 + len(built_in(SYSTEM))


@pytest.mark.parametrize("bootstrap", BOOTSTRAPS)
def test_what_cannot_be_changed_is_there_under_every_bootstrap(bootstrap: str) -> None:
    fixed = {str(t["id"]) for t in DATAHUB.defaults if not t["editable"]}
    found = {s.id for s in default_statements(load_system("datahub", {"bootstrap": bootstrap}))}
    assert fixed <= found
    assert found - fixed or bootstrap == "closed"


def test_closed_gives_nothing_to_who_has_no_role() -> None:
    for statement in statements("closed").values():
        assert statement.owners is None
        assert statement.principals <= {SYSTEM_ACTOR, ROOT, ADMIN, EDITOR, READER}


def test_as_the_guide_has_it_all_users_hold_the_whole_platform() -> None:
    seed = statements("seed")
    (open_to_all,) = (s for s in seed.values() if ALL_USERS in s.principals)
    rows = [row for row in ROWS if row["id"].startswith("DH-PLAT")]
    assert open_to_all.privileges == {name for row in rows for name in row["privileges"]}
    assert set(seed) - set(statements("closed")) == {"all-platform-privileges"}


def test_owners_get_what_they_own_except_deleting_it() -> None:
    policy = CURRENT["asset-owners-metadata-policy"]
    assert policy.owners == Owners(None)
    assert not policy.principals
    assert "DELETE_ENTITY" not in policy.privileges
    assert "SEARCH_PRIVILEGE" not in policy.privileges


def test_no_statement_is_anchored_at_one_entity() -> None:
    assert all(isinstance(s.scope, (Anything, Where)) for s in CURRENT.values())
    limited = {id for id, s in CURRENT.items() if isinstance(s.scope, Where)}
    assert limited == {
        "root-domain-manage-data-products-policy",
        "admin-domain-manage-data-products-policy",
        "editor-domain-manage-data-products-policy",
        "editor-metadata-policy-entities",
    }


@pytest.mark.parametrize(
    "name",
    [
        "VIEW_TESTS",
        "MANAGE_CONNECTIONS",
        "VIEW_MANAGE_TAGS",
        "CREATE_TAGS",
        "CREATE_DOMAINS",
        "CREATE_GLOBAL_ANNOUNCEMENTS",
        "CREATE_ENTITY",
        "EXISTS_ENTITY",
        "EDIT_ENTITY_EMBED",
        "EDIT_ENTITY_APPLICATIONS_PRIVILEGE",
        "MANAGE_GLOSSARY_CHILDREN",
        "DATA_READ_ONLY",
    ],
)
def test_no_shipped_policy_gives_this_privilege_to_a_person(name: str) -> None:
    givers = {id for id, s in CURRENT.items() if name in s.privileges}
    assert givers == {"system-actor"}


def test_the_three_roles_are_shipped_and_named_by_the_policies() -> None:
    assert [role["name"] for role in DATAHUB.roles] == [r.name for r in (ADMIN, EDITOR, READER)]
    named = {p for s in CURRENT.values() for p in s.principals if p.kind == "role"}
    assert named == {ADMIN, EDITOR, READER}
