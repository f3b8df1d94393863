"""Small exports of every file source, each to be damaged in one place."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from pathlib import Path
from typing import Any, Final, NamedTuple

from lakewarden.pipeline.ingest.dbt_file import DbtFile
from lakewarden.pipeline.ingest.opener import opener_of
from lakewarden.pipeline.ingest.source import Source
from lakewarden.pipeline.ingest.tabular import Tabular
from tests.pipeline.ingest.ranger_policies import item, policy, users
from tests.pipeline.ingest.test_dbt_file import manifest, node
from tests.systems.cdap.test_ingest import privilege
from tests.systems.datahub.ingest.test_openlineage import EVENT
from tests.systems.datahub.ingest.test_proposal import DATASET, proposal
from tests.systems.gravitino.ingest.test_catalog_exports import BIGQUERY, GLUE, SNOWFLAKE, UNITY
from tests.systems.gravitino.ingest.test_file import SMALL, exchange
from tests.systems.gravitino.ingest.test_people import LDIF, SCIM

Open = Callable[[Path], Source]


class Sample(NamedTuple):
    """An export of a source; `limits` are its files whose rows restrict access."""

    open: Open
    export: Mapping[str, str]
    limits: frozenset[str] = frozenset()


def _opened(kind: str, model: str, options: Mapping[str, str], place: Path) -> Source:
    return opener_of(kind).open(str(place), model, options)


def _lake(kind: str, **options: str) -> Open:
    return partial(_opened, kind, "gravitino", {"metalake": "lk", **options})


def _json(*documents: object) -> str:
    return "\n".join(map(json.dumps, documents))


def _replies(*replies: tuple[str, object]) -> str:
    return json.dumps([{"path": path, "reply": reply} for path, reply in replies])


# Ranger

_SALES = policy("sales", "sales", "*", "*", policyItems=[item("select", users=["ana"])])
_STAFF = policy("staff", "sales", "orders", "*", policyItems=[item("all", groups=["staff"])])
_DENIED = policy("denied", "sales", "people", "*", denyPolicyItems=[item("all", users=["ana"])])
_ROLE = {"name": "clerks", "users": [{"name": "dan", "isAdmin": False}], "groups": [], "roles": []}
_HELD = policy("held", "sales", "orders", "*", policyItems=[item("select", roles=["clerks"])])
RANGER: Final = {
    "allowed.json": _json({"policies": [_SALES, _STAFF, _HELD]}),
    "denied.json": _json([_DENIED]),
    "roles.json": _json([_ROLE]),
    "users.json": _json(users(ana=[], ben=["staff"], cid=[], dan=[])),
}

# Gravitino

_NOT_ORDERS = exchange(
    "/api/metalakes/lk/roles/kept_out",
    role={
        "name": "kept_out",
        "securableObjects": [
            {
                "fullName": "c.s.t",
                "type": "table",
                "privileges": [{"name": "select_table", "condition": "deny"}],
            }
        ],
    },
)
_KEPT_OUT = [{"name": "ben", "roles": ["readers", "kept_out"]}]
GRAVITINO: Final = {
    **{f"{name}.json": json.dumps(replies) for name, replies in SMALL.items()},
    "denials.json": json.dumps([_NOT_ORDERS, exchange("/api/metalakes/lk/users", users=_KEPT_OUT)]),
}

# CDAP

_SECURITY = "/v3/security/authorization"
CDAP: Final = {
    "namespaces.json": _replies(
        ("/v3/namespaces", [{"name": "shop"}]),
        ("/v3/namespaces/shop/data/datasets", [{"name": "t1"}, {"name": "t2"}]),
        ("/v3/namespaces/shop/streams", [{"name": "s1"}]),
    ),
    "roles.json": _replies(
        (f"{_SECURITY}/roles", [{"name": "eng", "type": "ROLE"}]),
        (f"{_SECURITY}/user/ana/roles", [{"name": "eng", "type": "ROLE"}]),
    ),
    "privileges.json": _replies(
        (f"{_SECURITY}/role/eng/privileges", [privilege("READ", NAMESPACE="shop", DATASET="t1")]),
        (f"{_SECURITY}/user/ben/privileges", [privilege("WRITE", NAMESPACE="shop", STREAM="s1")]),
    ),
}

# DataHub

_ANA, _CREW = "urn:li:corpuser:ana", "urn:li:corpGroup:crew"


def _aspect(urn: str, name: str, value: object) -> dict[str, Any]:
    kind = urn.split(":")[2]
    return proposal(entityType=kind, entityUrn=urn, aspectName=name, aspect={"json": value})


_POLICY = {
    "displayName": "readers",
    "description": "",
    "type": "METADATA",
    "state": "ACTIVE",
    "privileges": ["VIEW_ENTITY_PAGE", "EDIT_ENTITY_TAGS"],
    "actors": {"users": [_ANA], "groups": [_CREW], "resourceOwners": False},
    "resources": {"filter": {"criteria": [{"field": "URN", "values": [DATASET]}]}},
}
DATAHUB: Final = {
    "datasets.json": _json(
        [
            _aspect(DATASET, "ownership", {"owners": [{"owner": _CREW, "type": "DATAOWNER"}]}),
            _aspect(DATASET, "globalTags", {"tags": [{"tag": "urn:li:tag:pii"}]}),
        ]
    ),
    "people.json": _json(
        [
            _aspect(_ANA, "corpUserInfo", {"active": True, "displayName": "Ana"}),
            _aspect("urn:li:corpuser:ben", "groupMembership", {"groups": [_CREW]}),
            _aspect(_CREW, "corpGroupInfo", {"admins": [], "members": [], "groups": []}),
        ]
    ),
    "policies.json": _json([_aspect("urn:li:dataHubPolicy:p", "dataHubPolicyInfo", _POLICY)]),
}
"""A policy without a filter applies to everything, so values of a policy restrict access."""

# Our own tables

_SELECT = {
    "id": "read",
    "to": ["role:lk:readers"],
    "privileges": ["USE_CATALOG", "USE_SCHEMA", "SELECT_TABLE"],
    "on": "catalog:lk:c",
}
_NOT = {"id": "not", "effect": "deny", "to": ["role:lk:readers"], "privileges": ["SELECT_TABLE"]}
CSV: Final = {
    "entities.csv": "type,name,parent_type,parent_name\nmetalake,lk,,\ncatalog,lk:c,metalake,lk\n"
    "schema,lk:c.shop,,\ntable,lk:c.shop.orders,,\ntable,lk:c.shop.people,,\ntag,lk:pii,metalake,lk\n",
    "relations.csv": "kind,source_type,source_name,target_type,target_name\n"
    "tag,table,lk:c.shop.orders,tag,lk:pii\n",
    "attributes.csv": "type,name,attribute,value\ntable,lk:c.shop.orders,description,All\n",
    "owners.csv": "type,name,owner_kind,owner_name,ownership\ntable,lk:c.shop.orders,user,ana,\n",
    "principals.csv": "kind,name\nuser,ana\nuser,ben\nuser,cleo\ngroup,staff\nrole,lk:readers\n",
    "memberships.csv": "member_kind,member_name,of_kind,of_name\nuser,ben,group,staff\n"
    "user,cleo,group,staff\nuser,ana,implied,members:lk\nuser,ben,implied,members:lk\n"
    "user,cleo,implied,members:lk\ngroup,staff,role,lk:readers\n",
    "statements.jsonl": _json(_SELECT, {**_NOT, "on": "table:lk:c.shop.orders"}),
}

# People

PEOPLE: Final = {
    "directory.ldif": LDIF,
    "scim.json": json.dumps(SCIM),
    "users.csv": "user,active\nfay,true\ngil,false\n",
    "members.csv": "group,member,kind\nstaff,fay,user\nstaff,leads,group\nstaff,gil,user\n",
}

# dbt

_GRANTS = {"grants": {"select": ["reporter"], "insert": ["etl"]}}
DBT: Final = {
    "manifest.json": json.dumps(
        manifest(
            nodes={
                "model.shop.orders": node(
                    "model",
                    "orders",
                    config=_GRANTS,
                    meta={"owner": "ana"},
                    columns={"id": {"name": "id", "tags": ["pii"]}},
                ),
                "seed.shop.codes": node("seed", "codes", config={"materialized": "seed"}),
            },
            sources={"source.shop.raw": {**node("source", "raw"), "identifier": "RAW"}},
        )
    )
}


def _dbt(model: str, options: Mapping[str, str], place: Path) -> Source:
    return DbtFile(place / "manifest.json", model, options)


def _all(names: Iterable[str]) -> frozenset[str]:
    return frozenset(names)


SAMPLES: Final = {
    "unity": Sample(
        _lake("unity-catalog-file"),
        UNITY,
        _all(
            (
                "row_filters.csv",
                "column_masks.csv",
                "abac_policy_definitions.csv",
                "columns.csv",
                "tables.csv",
            )
        ),
    ),
    "snowflake": Sample(
        _lake("snowflake-file"),
        SNOWFLAKE,
        _all(
            (
                "policy_references.csv",
                "tag_references.csv",
                "columns.csv",
                "users.csv",
                "tables.csv",
            )
        ),
    ),
    "glue": Sample(
        _lake("glue-file", catalog="aws"),
        GLUE,
        _all(("tables-1.json", "tables-2.json", "tags.json")),
    ),
    "bigquery": Sample(
        _lake("bigquery-file"), BIGQUERY, _all(("row-policies.json", "assets.json"))
    ),
    "people": Sample(_lake("people-file"), PEOPLE),
    "ranger": Sample(_lake("ranger-file"), RANGER, _all(("denied.json",))),
    "gravitino": Sample(
        partial(_opened, "gravitino-file", "gravitino", {}), GRAVITINO, _all(("denials.json",))
    ),
    "cdap": Sample(partial(_opened, "cdap-file", "cdap", {}), CDAP),
    "datahub": Sample(
        partial(_opened, "datahub-file", "datahub", {}), DATAHUB, _all(("policies.json",))
    ),
    "openlineage": Sample(
        partial(_opened, "openlineage-file", "datahub", {}), {"events.json": _json(EVENT)}
    ),
    "csv": Sample(
        lambda place: Tabular(place, "csv", "gravitino"), CSV, _all(("statements.jsonl",))
    ),
    "dbt": Sample(partial(_dbt, "gravitino", {"metalake": "lk"}), DBT),
    "dbt for datahub": Sample(partial(_dbt, "datahub", {}), DBT),
}
"""Files about tables restrict access, too: an entity that is not a table has other limits."""
