"""Quillmere's CDAP, as replies of its REST API: seven namespaces of pipelines."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from lakewarden.sample.company import AREAS, GROUPS, PEOPLE, Area
from lakewarden.sample.exchange import Record, at, exchange, identity
from lakewarden.sample.part import Question, SamplePart, evaluation

_NAMESPACES: Final = {
    "default": "",
    "ingest": "etl",
    "sales": "etl",
    "supply": "",
    "customers": "",
    "people": "",
    "science": "zeno/spark.quillmere.example@QUILLMERE.EXAMPLE",
}
"""Namespaces, and the principal as which the programs of each run."""

_SECURE_KEYS: Final = {
    "ingest": ("till_password", "carrier_token", "bank_certificate"),
    "customers": ("newsletter_token", "chat_token"),
    "people": ("payroll_password",),
    "science": ("weather_token",),
}

_PARTS: Final = {
    "instance": ("INSTANCE",),
    "namespace": ("NAMESPACE",),
    "artifact": ("NAMESPACE", "ARTIFACT"),
    "application": ("NAMESPACE", "APPLICATION"),
    "program": ("NAMESPACE", "APPLICATION", "PROGRAM"),
    "dataset": ("NAMESPACE", "DATASET"),
    "stream": ("NAMESPACE", "STREAM"),
    "securekey": ("NAMESPACE", "SECUREKEY"),
    "kerberosprincipal": ("KERBEROSPRINCIPAL",),
}

Privileges = Mapping[str, str]
"""Actions by entity or pattern, each action by its first letter."""

_ACTIONS: Final = {"R": "READ", "W": "WRITE", "X": "EXECUTE", "A": "ADMIN"}

_ROLE_PRIVILEGES: Final[Mapping[str, Privileges]] = {
    "operator": {
        "namespace:ingest": "A",
        "application:ingest.*": "A",
        "artifact:ingest.*": "A",
        "program:ingest.*.*": "RXA",
        "dataset:ingest.*": "RWA",
        "stream:ingest.*": "RWA",
    },
    "store_analyst": {"dataset:sales.*": "R", "program:sales.*.service.*": "X"},
    "stock_analyst": {"dataset:supply.*": "R", "dataset:sales.orders": "R"},
    "care_analyst": {"dataset:customers.*": "R", "stream:customers.chats": "R"},
    "forecaster": {
        "namespace:science": "A",
        "application:science.*": "A",
        "program:science.*.*": "RXA",
        "dataset:science.*": "RWA",
        "dataset:sales.orders": "R",
        "dataset:sales.footfall": "R",
        "kerberosprincipal:zeno/spark.quillmere.example@QUILLMERE.EXAMPLE": "A",
    },
    # What follows was planted: the README beside this file says what is wrong with each.
    "auditor": {"dataset:*.*": "R", "securekey:*.*": "R"},
    "namespace_admin": {"namespace:supply": "RWXA"},
    "night_watch": {"program:*.*.*": "X"},
    "intern": {"dataset:default.*": "R"},
}
"""Roles and what each holds."""

_GROUP_ROLES: Final = {
    "platform": ("operator",),
    "sales": ("store_analyst",),
    "supply": ("stock_analyst",),
    "care": ("care_analyst",),
    "science": ("forecaster",),
    "audit": ("auditor",),
    "interns": ("intern",),
}
_USER_ROLES: Final = {"igor": ("namespace_admin",), "dora": ("stock_analyst",)}

_USER_PRIVILEGES: Final[Mapping[str, Privileges]] = {
    "kai": {"instance:cdap": "A", "namespace:*": "A"},
    "etl": {"dataset:sales.*": "RW", "dataset:ingest.*": "RW", "stream:ingest.*": "R"},
    "zeno": {"dataset:science.*": "RW"},
    "gina": {"namespace:customers": "A", "securekey:customers.chat_token": "RA"},
    "uma": {"dataset:people.*": "W", "namespace:people": "A"},
    # Planted, too.
    "milo": {"dataset:sales.ordres": "R", "program:sales.load.workflow.nightly": "X"},
    "hugo": {"dataset:sales.orders_2019": "R", "dataset:sales.targets": "RW"},
    "emil": {"program:sales.load.workflow.nightly": "X"},
}
_GROUP_PRIVILEGES: Final[Mapping[str, Privileges]] = {
    "people": {"dataset:people.*": "R", "program:people.*.*": "X"},
    "web": {"stream:ingest.page_views": "W"},
    "marketing": {"dataset:customers.segments": "R", "dataset:customers.consents": "R"},
    "finance": {"dataset:sales.receipts": "R", "securekey:ingest.bank_certificate": "R"},
}


def files() -> dict[str, list[Record]]:
    """The export's files, by name."""
    return {
        "namespaces.json": [exchange("/v3/namespaces", list(_namespaces()))],
        "artifacts.json": list(_artifacts()),
        "applications.json": list(_applications()),
        "datasets.json": list(_datasets()),
        "streams.json": list(_streams()),
        "securekeys.json": list(_secure_keys()),
        "roles.json": list(_roles()),
        "privileges.json": list(_privileges()),
        "identity.json": identity(),
    }


def _in(namespace: str, *segments: str) -> str:
    return at("v3", "namespaces", namespace, *segments)


def _area(namespace: str) -> Area | None:
    return next((area for area in AREAS if area.name == namespace), None)


def _namespaces() -> Iterator[Record]:
    for name, principal in _NAMESPACES.items():
        config: Record = {"scheduler.queue.name": "default"}
        if principal:
            config |= {"principal": principal, "keytabURI": f"/keytabs/{name}.keytab"}
        yield {"name": name, "description": "", "config": config}


def _artifacts() -> Iterator[Record]:
    shipped = ("core-plugins", "cdap-data-pipeline", "wrangler-service")
    artifacts: list[Record] = [
        {"name": name, "version": "5.1.2", "scope": "SYSTEM"} for name in shipped
    ]
    for namespace in _NAMESPACES:
        own: list[Record] = [
            {"name": f"{namespace}-{kind}", "version": "1.4.0", "scope": "USER"}
            for kind in ("loaders", "checks")
            if namespace != "default"
        ]
        yield exchange(_in(namespace, "artifacts"), [*artifacts, *own])


def _programs(namespace: str, app: str) -> list[tuple[str, str]]:
    kinds = {
        "load": [("Workflow", "nightly"), ("Mapreduce", "copy"), ("Spark", "clean")],
        "check": [("Workflow", "hourly"), ("Spark", "compare")],
        "serve": [("Service", "lookup"), ("Worker", "keeper")],
        "stream": [("Flow", "collect"), ("Worker", "forward")],
    }
    return kinds[app] if namespace != "default" else []


def _applications() -> Iterator[Record]:
    for namespace in _NAMESPACES:
        apps = () if namespace == "default" else ("load", "check", "serve", "stream")
        listed = [{"type": "App", "name": app, "version": "-SNAPSHOT"} for app in apps]
        yield exchange(_in(namespace, "apps"), listed)
        for app in apps:
            yield exchange(_in(namespace, "apps", app), _detail(namespace, app))


def _detail(namespace: str, app: str) -> Record:
    programs = [
        {"type": type, "app": app, "name": name} for type, name in _programs(namespace, app)
    ]
    artifact = {"name": f"{namespace}-loaders", "version": "1.4.0", "scope": "USER"}
    return {
        "name": app,
        "appVersion": "-SNAPSHOT",
        "artifact": artifact,
        "streams": [],
        "datasets": [],
        "programs": programs,
        "plugins": [],
    }


def _tables(namespace: str) -> Sequence[str]:
    area = _area(namespace)
    if area is not None:
        return area.tables[:15]
    names = {
        "default": "hello scratch",
        "ingest": "till_copy carrier_copy bank_copy card_copy offsets rejects lookups calendars",
        "science": "demand churn basket prices features labels weather holidays",
    }
    return names[namespace].split()


def _datasets() -> Iterator[Record]:
    for namespace in _NAMESPACES:
        datasets = [
            {"name": name, "type": "table", "description": "", "properties": {}}
            for name in (*_tables(namespace), "footfall")
        ]
        unique = list({item["name"]: item for item in datasets}.values())
        yield exchange(_in(namespace, "data", "datasets"), unique)
    modules = [{"name": "receipts", "className": "com.quillmere.Receipts", "types": ["receipt"]}]
    yield exchange(_in("sales", "data", "modules"), modules)
    yield exchange(_in("sales", "data", "types"), [{"name": "receipt", "modules": modules}])


def _streams() -> Iterator[Record]:
    streams = {
        "ingest": "page_views tills parcels prices payments",
        "customers": "chats calls",
        "science": "weather",
    }
    for namespace, names in streams.items():
        yield exchange(_in(namespace, "streams"), [{"name": name} for name in names.split()])


def _secure_keys() -> Iterator[Record]:
    for namespace, names in _SECURE_KEYS.items():
        yield exchange(_in(namespace, "securekeys"), dict.fromkeys(names, ""))


def _security(*segments: str) -> str:
    return at("v3", "security", "authorization", *segments)


def _roles() -> Iterator[Record]:
    roles = [{"name": name, "type": "ROLE"} for name in _ROLE_PRIVILEGES]
    yield exchange(_security("roles"), roles)
    for kind, holders in (("group", _GROUP_ROLES), ("user", _USER_ROLES)):
        for name, held in holders.items():
            role_bodies = [{"name": role, "type": "ROLE"} for role in held]
            yield exchange(_security(kind, name, "roles"), role_bodies)


def _privileges() -> Iterator[Record]:
    for role, held in _ROLE_PRIVILEGES.items():
        yield exchange(_security("role", role, "privileges"), list(_list(held)))
    for group in GROUPS:
        own = _GROUP_PRIVILEGES.get(group, {})
        yield exchange(_security("group", group, "privileges"), list(_list(own)))
    names = sorted({person.name for person in PEOPLE} | {"etl"})
    for name in names:
        # As CDAP answers: a user's list has also what the user's own roles hold.
        lists = [_USER_PRIVILEGES.get(name, {})]
        lists += [_ROLE_PRIVILEGES[role] for role in _USER_ROLES.get(name, ())]
        privileges = [privilege for held in lists for privilege in _list(held)]
        yield exchange(_security("user", name, "privileges"), privileges)


def _list(held: Privileges) -> Iterator[Record]:
    for text, letters in held.items():
        type, _, name = text.partition(":")
        keys = _PARTS[type]
        parts = dict(zip(keys, name.split(".", len(keys) - 1), strict=True))
        for letter in letters:
            authorizable = {"entityType": type.upper(), "entityParts": parts}
            yield {"authorizable": authorizable, "action": _ACTIONS[letter]}


_QUESTIONS: Final = (
    Question(
        "explain",
        "May Paul, an auditor, read the salaries' dataset?",
        "paul",
        "dataset.read",
        "dataset:people.salaries",
        "The wildcard was meant for the books and covers every dataset of every namespace.",
    ),
    Question(
        "explain",
        "Igor administers the namespace supply. May he change its dataset stock?",
        "igor",
        "dataset.update",
        "dataset:supply.stock",
        "Nothing is inherited here: ADMIN on a namespace is ADMIN on the namespace alone.",
    ),
    Question(
        "list",
        "Which namespaces does Milo, a contractor, get to see?",
        "milo",
        "namespace.list.filter",
        "",
        "A privilege on anything inside makes the namespace visible, even one on a misspelt name.",
    ),
)

SAMPLE: Final = SamplePart(
    path="cdap",
    source="cdap-file",
    files=lambda: {f"cdap/{name}": records for name, records in files().items()},
    questions=_QUESTIONS,
    commands=(("privileges", "igor", "namespace:supply"),),
    calls=(
        (
            "May she see the namespace sales in CDAP (AuthZEN)?",
            evaluation("namespace.get", "namespace", "sales"),
        ),
    ),
)
