"""Quillmere's Gravitino, as replies of its REST API: two metalakes, six catalogs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final

from lakewarden.sample.company import AREAS, COLUMNS, GROUPS, PEOPLE, SHOP, TOPICS
from lakewarden.sample.exchange import CREATED, Record, at, exchange, identity
from lakewarden.sample.part import Question, SamplePart

LAKE: Final = "quillmere"
LAB: Final = "lab"

_CATALOGS: Final = {
    (LAKE, "lake"): ("relational", "lakehouse-iceberg"),
    (LAKE, "shop"): ("relational", "jdbc-postgresql"),
    (LAKE, "stream"): ("messaging", "kafka"),
    (LAKE, "files"): ("fileset", "hadoop"),
    (LAKE, "models"): ("model", "model"),
    (LAB, "bench"): ("relational", "lakehouse-iceberg"),
}
"""Catalogs: type and provider."""

_PROPERTIES: Final = {
    (LAKE, "lake"): {
        "catalog-backend": "hive",
        "uri": "thrift://metastore.quillmere.example:9083",
        "warehouse": "s3a://quillmere-lake/warehouse",
    },
    (LAKE, "shop"): {
        "jdbc-driver": "org.postgresql.Driver",
        "jdbc-url": "jdbc:postgresql://shop.quillmere.example:5432/shop",
        "jdbc-database": "shop",
        "jdbc-user": "catalog",
    },
    (LAKE, "stream"): {"bootstrap.servers": "kafka.quillmere.example:9092"},
    (LAKE, "files"): {"location": "s3a://quillmere-files"},
    (LAB, "bench"): {
        "catalog-backend": "hive",
        "uri": "thrift://metastore.lab.example:9083",
        "warehouse": "s3a://quillmere-lab/warehouse",
    },
}
"""Catalogs: how their systems are reached, as far as that is no secret."""

_COMMENTS: Final = {
    (LAKE, "lake"): "all tables of the company",
    (LAKE, "shop"): "the web shop's database",
    (LAKE, "stream"): "events, as they come",
    (LAKE, "files"): "what comes and goes as files",
    (LAKE, "models"): "models in use",
    (LAB, "bench"): "tables to try things on",
}

_FILESETS: Final = {
    "landing": "till_exports supplier_invoices carrier_reports card_statements staff_lists"
    " newsletters photos weather price_scrapes returns_forms",
    "outbox": "tax_filings supplier_orders carrier_labels board_reports press_kits",
}
_MODELS: Final = ("demand", "churn", "basket", "prices", "returns", "footfall", "fraud", "staffing")
_TAGS: Final = ("personal_data", "restricted", "certified", "raw", "campaign", "unclear")
_POLICIES: Final = ("keep_ten_years", "erase_after_three_years", "mask_personal_data")
_TEMPLATES: Final = {
    "compact_tables": "lena",
    "refresh_marts": "zoe",
    "export_ledger": "nora",
    "train_model": "zeno",
}
_JOBS: Final = {
    "1": "compact_tables",
    "2": "refresh_marts",
    "3": "refresh_marts",
    "4": "train_model",
}

Privileges = Mapping[str, Sequence[str]]
"""Privileges by object, written `type name`; a privilege with `-` in front is a DENY."""

_READ: Final = ("USE_SCHEMA", "SELECT_TABLE")

_ROLES: Final[Mapping[str, Privileges]] = {
    "lake_user": {"catalog lake": ["USE_CATALOG"]},
    **{
        f"{area.name}_reader": {
            f"schema lake.{area.name}": _READ,
            f"schema lake.{area.name}_mart": _READ,
        }
        for area in AREAS
    },
    "lake_engineer": {
        "catalog lake": [
            "USE_CATALOG",
            "USE_SCHEMA",
            "CREATE_SCHEMA",
            "CREATE_TABLE",
            "MODIFY_TABLE",
        ],
        "catalog shop": ["USE_CATALOG", "USE_SCHEMA", "SELECT_TABLE"],
    },
    "shop_team": {
        "catalog shop": ["USE_CATALOG", "USE_SCHEMA", "CREATE_TABLE", "SELECT_TABLE"],
        "schema shop.orders": ["MODIFY_TABLE"],
        "table shop.payments.card_payments": ["-SELECT_TABLE"],
    },
    "stream_producer": {"catalog stream": ["USE_CATALOG", "USE_SCHEMA", "PRODUCE_TOPIC"]},
    "stream_consumer": {
        "catalog stream": ["USE_CATALOG", "USE_SCHEMA", "CONSUME_TOPIC"],
        "topic stream.default.customer_changed": ["-CONSUME_TOPIC"],
    },
    "file_reader": {"catalog files": ["USE_CATALOG", "USE_SCHEMA", "READ_FILESET"]},
    "file_sender": {
        "catalog files": ["USE_CATALOG"],
        "schema files.outbox": ["USE_SCHEMA", "CREATE_FILESET", "WRITE_FILESET"],
    },
    "modeller": {
        "catalog models": [
            "USE_CATALOG",
            "USE_SCHEMA",
            "USE_MODEL",
            "CREATE_MODEL",
            "LINK_MODEL_VERSION",
        ]
    },
    "tagger": {f"tag {tag}": ["APPLY_TAG"] for tag in _TAGS},
    "policy_keeper": {f"metalake {LAKE}": ["CREATE_POLICY", "APPLY_POLICY"]},
    "job_runner": {
        f"metalake {LAKE}": ["RUN_JOB"],
        "job_template refresh_marts": ["USE_JOB_TEMPLATE"],
        "job_template train_model": ["USE_JOB_TEMPLATE"],
    },
    "people_keeper": {f"metalake {LAKE}": ["MANAGE_USERS", "MANAGE_GROUPS"]},
    # What follows was planted: the README beside this file says what is wrong with each.
    "marts_only": {"schema lake.sales": ["-USE_SCHEMA"], "schema lake.sales_mart": _READ},
    "reporting": {f"metalake {LAKE}": ["USE_CATALOG", "USE_SCHEMA", "SELECT_TABLE"]},
    "archivist": {"catalog lake": ["USE_CATALOG", "USE_SCHEMA", "MODIFY_TABLE"]},
    "no_payroll": {"table lake.people.salaries": ["-SELECT_TABLE"]},
    "campaign_writer": {
        "schema lake.customers": ["USE_SCHEMA", "MODIFY_TABLE"],
        "table lake.customers.contacts": ["-SELECT_TABLE"],
    },
    "budget_viewer": {"table lake.finance.budgets": ["SELECT_TABLE"]},
    "intern": {"catalog lake": ["USE_CATALOG", "USE_SCHEMA", "SELECT_TABLE"]},
    "delegate": {f"metalake {LAKE}": ["MANAGE_GRANTS"]},
}
"""The roles of the metalake `quillmere`."""

_LAB_ROLES: Final[Mapping[str, Privileges]] = {
    "bench_reader": {"catalog bench": ["USE_CATALOG", "USE_SCHEMA", "SELECT_TABLE"]},
    "bench_writer": {"schema bench.shared": ["CREATE_TABLE", "MODIFY_TABLE"]},
}

_GROUP_ROLES: Final = {
    "platform": ("lake_engineer", "stream_producer", "file_reader", "file_sender"),
    "stewards": ("lake_user", "reference_reader", "tagger", "policy_keeper", "delegate"),
    "finance": ("lake_user", "finance_reader", "reference_reader", "file_sender"),
    "sales": ("lake_user", "sales_reader", "reference_reader"),
    "supply": ("lake_user", "supply_reader", "reference_reader", "file_reader"),
    "marketing": ("lake_user", "marketing_reader", "campaign_writer", "budget_viewer"),
    "care": ("lake_user", "customers_reader"),
    "web": ("lake_user", "web_reader", "shop_team", "stream_producer", "no_payroll"),
    "people": ("lake_user", "people_reader", "people_keeper"),
    "science": (
        "lake_user",
        "sales_reader",
        "web_reader",
        "stream_consumer",
        "modeller",
        "job_runner",
    ),
    "audit": ("reporting",),
    "interns": ("intern",),
}
_USER_ROLES: Final = {
    "dora": ("supply_reader",),
    "hugo": ("marts_only",),
    "ines": ("marts_only",),
    "jane": ("sales_reader",),
    "lena": ("job_runner",),
    "tess": ("stream_consumer",),
    "zoe": ("job_runner",),
}


def files() -> dict[str, list[Record]]:
    """The export's files, by name."""
    return {
        "metalakes.json": list(_metalakes()),
        "catalogs.json": list(_catalogs()),
        "schemas.json": list(_schemas()),
        "tables.json": list(_tables()),
        "topics.json": [_names(LAKE, "stream", "default", "topics", TOPICS)],
        "filesets.json": [
            _names(LAKE, "files", schema, "filesets", names.split())
            for schema, names in _FILESETS.items()
        ],
        "models.json": [_names(LAKE, "models", "main", "models", _MODELS)],
        "users.json": list(_users()),
        "groups.json": list(_groups()),
        "roles.json": list(_roles()),
        "tags.json": [_details("tags", [{"name": name} for name in _TAGS])],
        "policies.json": [_details("policies", [_policy(name) for name in _POLICIES])],
        "jobs.json": list(_jobs()),
        "owners.json": list(_owners()),
        "identity.json": identity(),
    }


def _reply(**body: object) -> Record:
    return {"code": 0, **body}


def _audited(creator: str = "kai", /, **body: object) -> Record:
    return {**body, "audit": {"creator": creator, "createTime": CREATED}}


def _below(metalake: str, *segments: str) -> str:
    return at("api", "metalakes", metalake, *segments)


def _details(kind: str, items: Iterable[Record]) -> Record:
    """The reply to a listing with details, of the metalake `quillmere`."""
    audited = [_audited(**item) for item in items]
    return exchange(f"{_below(LAKE, kind)}?details=true", _reply(**{kind: audited}))


def _metalakes() -> Iterator[Record]:
    metalakes = [_audited(name=name, comment="", properties={}) for name in (LAKE, LAB)]
    yield exchange("/api/metalakes", _reply(metalakes=metalakes))


def _catalogs() -> Iterator[Record]:
    for metalake in (LAKE, LAB):
        catalogs = [
            _audited(
                name=name,
                type=type,
                provider=provider,
                comment=_COMMENTS[lake, name],
                properties=_PROPERTIES.get((lake, name), {}),
            )
            for (lake, name), (type, provider) in _CATALOGS.items()
            if lake == metalake
        ]
        path = f"{_below(metalake, 'catalogs')}?details=true"
        yield exchange(path, _reply(catalogs=catalogs))


def _contents() -> Iterator[tuple[str, str, Mapping[str, Sequence[str]]]]:
    """Each relational catalog: metalake, name, and the tables of its schemas."""
    lake: dict[str, Sequence[str]] = {}
    for area in AREAS:
        lake[area.name] = area.tables
        days = [f"{table}_daily" for table in area.tables]
        months = [f"{table}_monthly" for table in area.tables]
        lake[f"{area.name}_mart"] = [*days, *months]
    lake["scratch"] = ("salaries_copy", "orders_old", "test_1")
    yield LAKE, "lake", lake
    yield LAKE, "shop", SHOP
    own = {name: [f"try_{n:02}" for n in range(1, 13)] for name in ("xenia", "yara", "shared")}
    yield LAB, "bench", own


def _schemas() -> Iterator[Record]:
    contents = {(lake, name): tuple(schemas) for lake, name, schemas in _contents()}
    others = {"stream": ("default",), "files": tuple(_FILESETS), "models": ("main",)}
    contents |= {(LAKE, name): schemas for name, schemas in others.items()}
    for (metalake, catalog), schemas in contents.items():
        path = _below(metalake, "catalogs", catalog, "schemas")
        identifiers = [{"namespace": [metalake, catalog], "name": schema} for schema in schemas]
        yield exchange(path, _reply(identifiers=identifiers))


def _names(metalake: str, catalog: str, schema: str, kind: str, names: Sequence[str]) -> Record:
    """The reply to a listing of what a schema holds."""
    path = _below(metalake, "catalogs", catalog, "schemas", schema, kind)
    identifiers = [{"namespace": [metalake, catalog, schema], "name": name} for name in names]
    return exchange(path, _reply(identifiers=identifiers))


def _tables() -> Iterator[Record]:
    for metalake, catalog, schemas in _contents():
        for schema, tables in schemas.items():
            yield _names(metalake, catalog, schema, "tables", tables)
    for area in AREAS:
        for table in area.tables:
            if table in COLUMNS:
                yield _table(area.name, table, area.engineer)


def _table(schema: str, name: str, creator: str) -> Record:
    columns = [
        {"name": column, "type": "string", "nullable": True, "autoIncrement": False}
        for column in COLUMNS[name].split()
    ]
    table = _audited(
        creator,
        name=name,
        comment="",
        columns=columns,
        properties={},
        partitioning=[],
        distribution={"strategy": "none", "number": 0, "funcArgs": []},
        sortOrders=[],
        indexes=[],
    )
    path = _below(LAKE, "catalogs", "lake", "schemas", schema, "tables", name)
    return exchange(path, _reply(table=table))


def _users() -> Iterator[Record]:
    users = [
        _audited(name=person.name, roles=list(_USER_ROLES.get(person.name, ())))
        for person in PEOPLE
    ]
    yield exchange(f"{_below(LAKE, 'users')}?details=true", _reply(users=users))
    lab = {"xenia": ["bench_reader", "bench_writer"], "yara": ["bench_reader"], "zeno": []}
    users = [
        _audited("xenia", name=name, roles=roles) for name, roles in {**lab, "kai": []}.items()
    ]
    yield exchange(f"{_below(LAB, 'users')}?details=true", _reply(users=users))


def _groups() -> Iterator[Record]:
    groups = [_audited(name=name, roles=list(_GROUP_ROLES[name])) for name in GROUPS]
    yield exchange(f"{_below(LAKE, 'groups')}?details=true", _reply(groups=groups))
    science = [_audited("xenia", name="science", roles=["bench_reader"])]
    yield exchange(f"{_below(LAB, 'groups')}?details=true", _reply(groups=science))


def _roles() -> Iterator[Record]:
    for metalake, roles in ((LAKE, _ROLES), (LAB, _LAB_ROLES)):
        yield exchange(_below(metalake, "roles"), _reply(names=list(roles)))
        for name, objects in roles.items():
            role = _audited(name=name, properties={}, securableObjects=_objects(objects))
            yield exchange(_below(metalake, "roles", name), _reply(role=role))


def _objects(objects: Privileges) -> list[Record]:
    objects_with_privileges: list[Record] = []
    for text, privileges in objects.items():
        type, _, name = text.partition(" ")
        bodies = [
            {
                "name": privilege.removeprefix("-").lower(),
                "condition": "deny" if privilege.startswith("-") else "allow",
            }
            for privilege in privileges
        ]
        objects_with_privileges.append({"fullName": name, "type": type, "privileges": bodies})
    return objects_with_privileges


def _policy(name: str) -> Record:
    content = {"customRules": {}, "properties": {}, "supportedObjectTypes": ["table"]}
    return {"name": name, "policyType": "custom", "enabled": True, "content": content}


def _jobs() -> Iterator[Record]:
    templates = [
        _audited(owner, name=name, jobType="spark", executable=f"{name}.py")
        for name, owner in _TEMPLATES.items()
    ]
    path = f"{_below(LAKE, 'jobs', 'templates')}?details=true"
    yield exchange(path, _reply(jobTemplates=templates))
    runs = [
        _audited("lena", jobId=id, jobTemplateName=template, status="succeeded")
        for id, template in _JOBS.items()
    ]
    yield exchange(_below(LAKE, "jobs", "runs"), _reply(jobs=runs))


def _owners() -> Iterator[Record]:
    yield _owner(LAKE, "metalake", LAKE, "kai")
    yield _owner(LAB, "metalake", LAB, "xenia")
    catalogs = {
        "lake": "lena",
        "shop": "quin",
        "stream": "yuri",
        "files": "dario",
        "models": "xenia",
    }
    for name, owner in catalogs.items():
        yield _owner(LAKE, "catalog", name, owner)
    yield _owner(LAB, "catalog", "bench", "xenia")
    for area in AREAS:
        yield _owner(LAKE, "schema", f"lake.{area.name}", area.engineer)
        yield _owner(LAKE, "schema", f"lake.{area.name}_mart", "zoe")
        for table in area.tables[:8]:
            yield _owner(LAKE, "table", f"lake.{area.name}.{table}", area.steward)
    # Planted: an owner whom a DENY keeps out, and tables that nobody owns.
    yield _owner(LAKE, "table", "lake.sales.forecasts", "hugo")
    yield _owner(LAKE, "table", "lake.scratch.salaries_copy", None)
    yield _owner(LAKE, "table", "lake.scratch.orders_old", None)
    for topic in TOPICS[:6]:
        yield _owner(LAKE, "topic", f"stream.default.{topic}", "sami")
    for model in _MODELS:
        yield _owner(LAKE, "model", f"models.main.{model}", "zeno")
    for name, owner in _TEMPLATES.items():
        yield _owner(LAKE, "job_template", name, owner)
    for name in _ROLES:
        yield _owner(LAKE, "role", name, "kai")
    for tag in _TAGS:
        yield _owner(LAKE, "tag", tag, "edda")
    for policy in _POLICIES:
        yield _owner(LAKE, "policy", policy, "edda")


def _owner(metalake: str, type: str, name: str, owner: str | None) -> Record:
    body = {} if owner is None else {"owner": {"name": owner, "type": "user"}}
    return exchange(_below(metalake, "owners", type, name), _reply(**body))


_LAKE: Final = "table:quillmere:lake."
_FINANCE: Final = "/api/metalakes/quillmere/catalogs/lake/schemas/finance/tables"

_QUESTIONS: Final = (
    Question(
        "explain",
        "May Ana, a controller, read the invoices?",
        "ana",
        "table.load",
        f"{_LAKE}finance.invoices",
        "Every container on the way asks for its own privilege; Ana has all of them"
        " through her group.",
    ),
    Question(
        "explain",
        "Hugo owns the sales forecasts. May he alter them?",
        "hugo",
        "table.alter",
        f"{_LAKE}sales.forecasts",
        "Owning a table does not help against a DENY on its schema, and a DENY beats every ALLOW.",
    ),
    Question(
        "who",
        "Who may read the salaries?",
        "",
        "table.load",
        f"{_LAKE}people.salaries",
        "Paul and Rita of audit: their role `reporting` may select every table of the metalake.",
    ),
)

SAMPLE: Final = SamplePart(
    path="gravitino",
    source="gravitino-file",
    files=lambda: {f"gravitino/{name}": records for name, records in files().items()},
    questions=_QUESTIONS,
    commands=(
        ("explain", "fay", "table.load", f"{_LAKE}customers.contacts"),
        ("list", "jane", "table.load", "--count"),
    ),
    calls=(("As Ana, whose tables are those of finance (Gravitino's own API):", _FINANCE),),
)
