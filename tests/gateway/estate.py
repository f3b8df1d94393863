"""A small realm for Spark: grants to read tables, with filters and masks."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any, Final

from pyspark.sql.connect.proto import relations_pb2 as relations

from lakewarden.config.engines import SparkRealm
from lakewarden.engines import mapping
from lakewarden.gateway.access import Access, Name
from lakewarden.gateway.plans import Plans
from lakewarden.gateway.session import Session
from lakewarden.kernel.principal import Principal, members_of
from lakewarden.kernel.relations import EntityRow, Facts, MembershipRow, OwnerRow
from lakewarden.kernel.statement_file import read_statements
from lakewarden.service import realms, token
from lakewarden.service.actor import SYSTEM, Actor
from lakewarden.service.decision_service import DecisionService
from lakewarden.service.load import LoadResult, load_rows
from lakewarden.service.realm import DIRECTORY, Realm
from lakewarden.service.system import load_system
from lakewarden.service.token import Issued, Terms
from lakewarden.store import open_store
from tests.administrators import make_administrator

REALM: Final = "lake"
SETTINGS: Final = {"spark": "on"}
NAMES: Final = SparkRealm(metalake="lk", catalogs={"spark_catalog": "lake"}, database="sales")
SALES: Final = "lk:lake.sales"
ENTITIES: Final = (
    *("metalake:lk", "catalog:lk:lake", f"schema:{SALES}", "schema:lk:lake.hr"),
    *(f"table:{SALES}.{name}" for name in ("orders", "customers", "notes", "scratch")),
    *("table:lk:lake.hr.people", f"view:{SALES}.totals"),
    *(f"column:{SALES}.customers.{name}" for name in ("id", "name", "iban", "region")),
)
USERS: Final = ("ana", "bo", "eve", "olga", "root")
"""ana reads sales with filters and masks, bo also writes it, eve has no grants, olga owns all."""

GRANTS: Final = (
    ("USE_CATALOG", "catalog:lk:lake", "reader"),
    ("USE_SCHEMA", f"schema:{SALES}", "reader"),
    ("SELECT_TABLE", f"schema:{SALES}", "reader"),
    ("SELECT_VIEW", f"schema:{SALES}", "reader"),
    ("INSERT_ROWS", f"schema:{SALES}", "writer"),
    ("DELETE_ROWS", f"table:{SALES}.notes", "writer"),
    ("CREATE_TABLE", f"schema:{SALES}", "writer"),
    ("INSERT_ROWS", f"table:{SALES}.scratch", "limited"),
    ("DELETE_ROWS", f"table:{SALES}.scratch", "limited"),
    ("MODIFY_TABLE", f"table:{SALES}.orders", "limited"),
    ("MODIFY_TABLE", f"table:{SALES}.customers", "limited"),
    ("CREATE_VIEW", f"schema:{SALES}", "limited"),
)
_LIMITS: Final[list[dict[str, object]]] = [
    {
        "id": "own-region",
        "effect": "filter",
        "on": f"table:{SALES}.orders",
        "expression": "region = 'eu'",
        "to": ["user:ana"],
    },
    {
        "id": "hide-iban",
        "effect": "mask",
        "on": f"column:{SALES}.customers.iban",
        "expression": "last4",
        "to": ["user:ana"],
    },
    {
        "id": "far-customers",
        "effect": "filter",
        "on": f"table:{SALES}.customers",
        "expression": "region <> 'apac'",
        "to": ["user:ana"],
    },
]
COLUMNS: Final[Mapping[str, Mapping[str, str]]] = {
    "orders": {"id": "bigint", "region": "string", "amount": "decimal(10, 2)"},
    "customers": {"id": "bigint", "name": "string", "iban": "string", "region": "string"},
}
"""Spark's schemas of the tables that have filters or masks."""


def _facts() -> Facts:
    system = load_system("gravitino", SETTINGS)
    entities = [system.entity(text) for text in ENTITIES]
    users = {name: system.principal(name) for name in ("ana", "bo", "olga")}
    roles = {name: Principal("role", f"lk:{name}") for name in ("reader", "writer", "limited")}
    memberships = [MembershipRow(user, members_of("lk")) for user in users.values()]
    memberships += [MembershipRow(users["ana"], roles[name]) for name in ("reader", "limited")]
    memberships += [MembershipRow(users["bo"], roles[name]) for name in ("reader", "writer")]
    grants = [
        {
            "id": privilege if role != "limited" else f"{privilege}-{on.rpartition('.')[2]}",
            "privileges": [privilege],
            "on": on,
            "to": [f"role:lk:{role}"],
        }
        for privilege, on, role in GRANTS
    ]
    return Facts(
        entities=[EntityRow(one, system.spelling.parent(one)) for one in entities],
        owners=[OwnerRow(entities[0], users["olga"])],
        principals=[*users.values(), *roles.values()],
        memberships=memberships,
        statements=read_statements(
            [*grants, *_LIMITS], system.model, system.spelling, "statements"
        ),
    )


class Estate:
    """A stored realm, and a token of each user."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.store = open_store(f"sqlite:///{folder}/store.db")
        self.service = DecisionService(self.store)
        self.service.open()
        self.service.write(SYSTEM, realms.establish_control)
        self.service.write(SYSTEM, lambda d: make_administrator(d, "root", DIRECTORY))
        realm = Realm(REALM, "gravitino", settings=SETTINGS)
        self.service.write(SYSTEM, lambda d: realms.establish(d, realm))
        root = Actor("root", credential="test")
        system = load_system("gravitino", SETTINGS)
        assert isinstance(load_rows(self.service, root, REALM, system, _facts()), LoadResult)
        self.tokens = {user: self.token(user) for user in USERS}

    def token(self, user: str, terms: Terms | None = None) -> str:
        issued = partial(token.create, user=user, terms=terms or Terms())
        made = self.service.write(Actor("root", credential="test"), issued)
        assert isinstance(made, Issued)
        return made.text

    def access(self, user: str) -> Access:
        realm = self.service.state.realm(REALM)
        answered = mapping.of_model("gravitino")["spark"]
        now = self.service.clock()
        return Access(realm, answered, NAMES, Actor(user), now)

    def plans(self, user: str, session: Session | None = None) -> Plans:
        return Plans(session or new_session(), self.access(user), columns_of, rows_of)


def new_session() -> Session:
    return Session(NAMES.catalog, NAMES.database, NAMES.catalog)


def columns_of(name: Name) -> Mapping[str, str]:
    return COLUMNS[name[-1]]


def rows_of(plan: relations.Relation) -> list[dict[str, Any]]:
    """Spark's answers about its catalog, whose other names are not in the realm."""
    match plan.catalog.WhichOneof("cat_type"):
        case "list_databases":
            return [{"name": name} for name in ("default", "hr", "sales")]
        case "list_tables":
            schema = plan.catalog.list_tables.db_name.split("`")[-2]
            tables = {"sales": ("orders", "customers", "notes", "unknown"), "hr": ("people",)}
            views = ("totals",) if schema == "sales" else ()
            return [
                {"name": name, "isTemporary": False, "tableType": type}
                for type, names in (("MANAGED", tables.get(schema, ())), ("VIEW", views))
                for name in names
            ]
    raise AssertionError(plan)
