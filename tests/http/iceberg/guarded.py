"""A guard in front of a catalog, and clients of several users."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from pyiceberg.catalog.rest import RestCatalog as Client

from lakewarden.app.open_store import opened_service
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
from tests.app.serving import Answer, Served, server
from tests.http.iceberg.rest_catalog import PREFIX, READER_TOKEN, TOKEN, RestCatalog, rest_catalog

ROOT = "root-token-of-the-tests-0123456789abcdef"
SETTINGS = {"iceberg": "on"}
USERS = ("olga", "sam", "wes", "ana", "eve")
"""Owns the metalake; may create in `sales`; may write there; may read there; has no permission."""

ENTITIES = (
    *("metalake:lk", "catalog:lk:lake", "schema:lk:lake.sales", "schema:lk:lake.hr"),
    *("table:lk:lake.sales.orders", "table:lk:lake.sales.kept", "table:lk:lake.hr.people"),
)
GRANTS = (
    ("USE_CATALOG", "catalog:lk:lake", "member"),
    ("USE_SCHEMA", "schema:lk:lake.sales", "member"),
    ("SELECT_TABLE", "schema:lk:lake.sales", "reader"),
    ("MODIFY_TABLE", "schema:lk:lake.sales", "writer"),
    ("CREATE_TABLE", "schema:lk:lake.sales", "maker"),
)
NEW_SCHEMA = {
    "type": "struct",
    "schema-id": 0,
    "fields": [{"id": 1, "name": "id", "type": "long", "required": False}],
}
NO_VARIABLES: Mapping[str, str] = {}
CONFIGURATION = """
[iceberg.gravitino]
uri = "{uri}"
metalake = "lk"
catalogs = {{ shop = "lake" }}
prefixes = {{ shop = "{prefix}", other = "elsewhere" }}
token_file = "{folder}/token"
timeout_seconds = 2.0
response_bytes = 200_000
{more}
"""


@dataclass
class Guarded:
    """A guard, the catalog behind it, and the tokens of users."""

    served: Served
    catalog: RestCatalog
    tokens: Mapping[str, str]
    clients: dict[str, Client] = field(default_factory=dict)

    def client(self, user: str) -> Client:
        """A real client of the user."""
        if user not in self.clients:
            self.clients[user] = Client(
                user, uri=self.uri, warehouse="shop", token=self.tokens[user]
            )
        return self.clients[user]

    @property
    def uri(self) -> str:
        return f"{self.served.address}/r/gravitino/iceberg"

    def ask(self, user: str, method: str, path: str, body: object = None, **headers: str) -> Answer:
        """One request of the user; `path` is below `/v1/PREFIX/`."""
        where = f"/r/gravitino/iceberg/v1/{path}"
        sent = {name.replace("_", "-"): value for name, value in headers.items()}
        return self.served.ask(method, where, body, sent, token=self.tokens[user])

    @contextmanager
    def writing(self) -> Iterator[DecisionService]:
        """A service in this process on the guard's store."""
        with opened_service(f"sqlite:///{self.served.log.parent}/store.db") as service:
            yield service


def facts() -> Facts:
    system = load_system("gravitino", SETTINGS)
    entities = [system.entity(text) for text in ENTITIES]
    users = {name: system.principal(name) for name in USERS}
    names = ("member", "reader", "writer", "maker")
    roles = {name: Principal("role", f"lk:{name}") for name in names}
    given = {"sam": "member maker", "wes": "member writer", "ana": "member reader"}
    lake = members_of("lk")
    memberships = [MembershipRow(users[name], lake) for name in USERS if name != "eve"]
    for user, of in given.items():
        memberships += [MembershipRow(users[user], roles[role]) for role in of.split()]
    statements = [
        {"id": privilege, "privileges": [privilege], "on": on, "to": [f"role:lk:{role}"]}
        for privilege, on, role in GRANTS
    ]
    return Facts(
        entities=[EntityRow(one, system.spelling.parent(one)) for one in entities],
        owners=[OwnerRow(entities[0], users["olga"])],
        principals=[*users.values(), *roles.values()],
        memberships=memberships,
        statements=read_statements(statements, system.model, system.spelling, "statements"),
    )


def furnish(service: DecisionService) -> dict[str, str]:
    """Fills a store; returns the tokens of all users and of the enforcement point `engine`."""
    service.open()
    service.write(SYSTEM, realms.establish_control)
    service.write(SYSTEM, lambda d: make_administrator(d, "root", DIRECTORY))
    realm = Realm("gravitino", "gravitino", settings=SETTINGS)
    service.write(SYSTEM, lambda d: realms.establish(d, realm))
    service.write(SYSTEM, lambda d: realms.establish(d, Realm("silent", "gravitino")))
    root = Actor("root", credential="test")
    loaded = load_rows(service, root, "gravitino", load_system("gravitino", SETTINGS), facts())
    assert isinstance(loaded, LoadResult)
    tokens = {}
    for user, terms in [*((user, Terms()) for user in USERS), ("engine", Terms(engine=True))]:
        made: Any = service.write(root, partial(token.create, user=user, terms=terms))
        assert isinstance(made, Issued)
        tokens[user] = made.text
    return tokens


@contextmanager
def guarded(folder: Path, more: str = "", *, reader: bool = False) -> Iterator[Guarded]:
    """A guard in front of the tests' own catalog."""
    if reader:
        (folder / "reader").write_text(READER_TOKEN)
        more += f'reader_token_file = "{folder}/reader"\n'
    with (
        rest_catalog(folder / "catalog") as catalog,
        guard_of(folder, catalog.address, PREFIX, more) as (served, tokens),
    ):
        yield Guarded(served, catalog, tokens)


@contextmanager
def guard_of(
    folder: Path,
    uri: str,
    prefix: str,
    more: str = "",
    variables: Mapping[str, str] = NO_VARIABLES,
) -> Iterator[tuple[Served, Mapping[str, str]]]:
    """A guard in front of any catalog, and the tokens of the users."""
    with open_store(f"sqlite:///{folder}/store.db") as store:
        tokens = furnish(DecisionService(store))
    (folder / "token").write_text(f"{TOKEN}\n")
    text = CONFIGURATION.format(uri=uri, prefix=prefix, folder=folder, more=more)
    (folder / "guard.toml").write_text(text)
    settings = ("--auth", "token", "--admin", "root", "--config", str(folder / "guard.toml"))
    environment = {"LAKEWARDEN_ROOT_TOKEN": ROOT, **variables}
    with server(folder, *settings, environment=environment, verb="iceberg-guard") as served:
        yield served, tokens
