"""Quillmere's DataHub, as metadata change proposals: what the command's file sink writes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from lakewarden.sample.company import (
    AREAS,
    COLUMNS,
    GROUPS,
    PEOPLE,
    PERSONAL,
    PERSONAL_COLUMNS,
    SHOP,
    TOPICS,
    Area,
    Person,
)
from lakewarden.sample.part import Question, SamplePart, evaluation

Record = dict[str, object]

MOMENT: Final = 1_790_000_000_000
"""When everything was last written, in milliseconds since the epoch."""

STAMP: Final = {"time": MOMENT, "actor": "urn:li:corpuser:kai"}

_DOMAINS: Final = {
    "commerce": None,
    "stores": "commerce",
    "online": "commerce",
    "marketing": "commerce",
    "operations": None,
    "supply": "operations",
    "reference": "operations",
    "corporate": None,
    "finance": "corporate",
    "people": "corporate",
    "customers": None,
    "science": None,
}
"""Domains and the domain above."""

_TAGS: Final = {
    "personal-data": "about people who can be recognised",
    "restricted": "not without a reason",
    "certified": "checked by a steward",
    "raw": "as it came in",
    "daily": "one row a day",
    "campaign": "belongs to a campaign",
    "spring": "spring season",
    "autumn": "autumn season",
    "unclear": "nobody knows yet what this is",
    "slow": "takes minutes to read",
    "external": "bought or given by others",
    "deleted-soon": "will be dropped",
}

_GLOSSARY: Final = {
    "classification": "public internal confidential secret",
    "sales-terms": "gross-sales net-sales basket-size return-rate comparable-store footfall",
    "finance-terms": "margin accrual write-off net-debt working-capital payment-term",
    "supply-terms": "lead-time safety-stock fill-rate landed-cost shrinkage",
    "customer-terms": "active-customer churn lifetime-value consent complaint-rate",
    "shop-terms": "bounce-rate conversion session abandoned-cart",
}
"""Term groups and their terms; all but `classification` lie below `business`."""

_OWNERSHIP: Final = "urn:li:ownershipType:"
_TECHNICAL: Final = f"{_OWNERSHIP}__system__technical_owner"
_BUSINESS: Final = f"{_OWNERSHIP}__system__business_owner"
_CUSTODIAN: Final = f"{_OWNERSHIP}custodian"

_READ: Final = [
    "EXISTS_ENTITY",
    "GET_ENTITY_PRIVILEGE",
    "SEARCH_PRIVILEGE",
    "VIEW_DATASET_PROFILE",
    "VIEW_DATASET_USAGE",
    "VIEW_ENTITY_PAGE",
]
_ASSETS: Final = ["dataset", "chart", "dashboard", "dataFlow", "dataJob"]


def records() -> Iterator[Record]:
    """All proposals, in the order in which they are written."""
    yield from _people()
    yield from _vocabulary()
    yield from _lake()
    yield from _shop()
    yield from _streams()
    yield from _pipelines()
    yield from _reports()
    yield from _products()
    yield from _science()
    yield from _queries()
    yield from _orphans()
    yield from _policies()


def dataset(platform: str, name: str) -> str:
    """The URN of a dataset."""
    return f"urn:li:dataset:(urn:li:dataPlatform:{platform},{name},PROD)"


def _user(name: str) -> str:
    return f"urn:li:corpuser:{name}"


def _group(name: str) -> str:
    return f"urn:li:corpGroup:{name}"


def _domain(name: str) -> str:
    return f"urn:li:domain:{name}"


def _tag(name: str) -> str:
    return f"urn:li:tag:{name}"


def _term(name: str) -> str:
    return f"urn:li:glossaryTerm:{name}"


def _container(name: str) -> str:
    return f"urn:li:container:{name}"


def proposal(urn: str, aspect: str, value: Mapping[str, object]) -> Record:
    """One proposal, as the file sink writes it."""
    return {
        "entityType": urn.split(":")[2],
        "entityUrn": urn,
        "changeType": "UPSERT",
        "aspectName": aspect,
        "aspect": {"json": value},
    }


def _in_domain(urn: str, domain: str) -> Record:
    return proposal(urn, "domains", {"domains": [_domain(domain)]})


def _inside(urn: str, container: str) -> Record:
    return proposal(urn, "container", {"container": _container(container)})


def _tagged(urn: str, *tags: str) -> Record:
    return proposal(urn, "globalTags", {"tags": [{"tag": _tag(tag)} for tag in tags]})


def _with_terms(urn: str, *terms: str) -> Record:
    associations = [{"urn": _term(term)} for term in terms]
    return proposal(urn, "glossaryTerms", {"terms": associations, "auditStamp": STAMP})


def _owned(urn: str, *owners: tuple[str, str]) -> Record:
    """Owners with their ownership types."""
    words = {_TECHNICAL: "TECHNICAL_OWNER", _BUSINESS: "BUSINESS_OWNER"}
    owner_list = [
        {"owner": owner, "type": words.get(type, "CUSTOM"), "typeUrn": type}
        for owner, type in owners
    ]
    return proposal(urn, "ownership", {"owners": owner_list, "lastModified": STAMP})


def _people() -> Iterator[Record]:
    for person in PEOPLE:
        yield from _person(person)
    for name, purpose in GROUPS.items():
        info = {"displayName": name, "description": purpose, "admins": [], "members": []}
        yield proposal(_group(name), "corpGroupInfo", {**info, "groups": []})
    for name, role in (("platform", "Admin"), ("science", "Reader")):
        yield proposal(_group(name), "roleMembership", {"roles": [f"urn:li:dataHubRole:{role}"]})


def _person(person: Person) -> Iterator[Record]:
    urn = _user(person.name)
    info = {"active": True, "displayName": person.full_name, "title": person.title}
    yield proposal(urn, "corpUserInfo", {**info, "email": f"{person.name}@quillmere.example"})
    groups = [_group(name) for name in person.groups]
    yield proposal(urn, "groupMembership", {"groups": groups})


def _vocabulary() -> Iterator[Record]:
    for name, parent in _DOMAINS.items():
        above = {} if parent is None else {"parentDomain": _domain(parent)}
        yield proposal(_domain(name), "domainProperties", {"name": name, **above})
    for name, meaning in _TAGS.items():
        yield proposal(_tag(name), "tagProperties", {"name": name, "description": meaning})
    yield proposal(
        "urn:li:glossaryNode:business",
        "glossaryNodeInfo",
        {"name": "business", "definition": "what our words mean"},
    )
    for node, terms in _GLOSSARY.items():
        above = {} if node == "classification" else {"parentNode": "urn:li:glossaryNode:business"}
        urn = f"urn:li:glossaryNode:{node}"
        yield proposal(urn, "glossaryNodeInfo", {"name": node, "definition": node, **above})
        for term in terms.split():
            info = {"name": term, "definition": term.replace("-", " "), "termSource": "INTERNAL"}
            yield proposal(_term(term), "glossaryTermInfo", {**info, "parentNode": urn})
    yield proposal(
        _CUSTODIAN,
        "ownershipTypeInfo",
        {"name": "custodian", "created": STAMP, "lastModified": STAMP},
    )
    for name in ("retention", "source-system"):
        definition = {"qualifiedName": name, "valueType": "urn:li:dataType:datahub.string"}
        yield proposal(
            f"urn:li:structuredProperty:{name}",
            "propertyDefinition",
            {**definition, "entityTypes": ["urn:li:entityType:datahub.dataset"]},
        )
    for name in ("iceberg", "postgres", "kafka", "airflow", "tableau", "mlflow"):
        info = {"name": name, "type": "OTHERS", "datasetNameDelimiter": "."}
        yield proposal(f"urn:li:dataPlatform:{name}", "dataPlatformInfo", info)


def _database(name: str, domain: str | None, inside: str | None = None) -> Iterator[Record]:
    urn = _container(name)
    yield proposal(urn, "containerProperties", {"name": name.rpartition(".")[2]})
    if inside is not None:
        yield _inside(urn, inside)
    if domain is not None:
        yield _in_domain(urn, domain)


def _lake() -> Iterator[Record]:
    yield from _database("lake", None)
    for area in AREAS:
        yield from _database(f"lake.{area.name}", area.domain, "lake")
        yield from _database(f"lake.{area.name}_mart", area.domain, "lake")
        for table in area.tables:
            yield from _raw_table(area, table)
            yield from _daily_table(area, table)


def _raw_table(area: Area, table: str) -> Iterator[Record]:
    urn = dataset("iceberg", f"lake.{area.name}.{table}")
    yield _inside(urn, f"lake.{area.name}")
    yield _in_domain(urn, area.domain)
    yield _owned(
        urn,
        (_user(area.engineer), _TECHNICAL),
        (_group(area.group), _BUSINESS),
        (_user(area.steward), _CUSTODIAN),
    )
    if table in PERSONAL:
        yield _tagged(urn, "personal-data", "raw")
        yield _with_terms(urn, "secret" if area.name == "people" else "confidential")
    if area.name == "finance":
        values = [{"string": "ten years"}]
        properties = [{"propertyUrn": "urn:li:structuredProperty:retention", "values": values}]
        yield proposal(urn, "structuredProperties", {"properties": properties})
    for column in COLUMNS.get(table, "").split():
        field = f"urn:li:schemaField:({urn},{column})"
        yield proposal(field, "status", {"removed": False})
        if column in PERSONAL_COLUMNS:
            yield _tagged(field, "personal-data")


def _daily_table(area: Area, table: str) -> Iterator[Record]:
    urn = dataset("iceberg", f"lake.{area.name}_mart.{table}_daily")
    yield _inside(urn, f"lake.{area.name}_mart")
    yield _in_domain(urn, area.domain)
    yield _owned(urn, (_group("platform"), _TECHNICAL))


def _shop() -> Iterator[Record]:
    yield from _database("shop", "online")
    for schema, tables in SHOP.items():
        yield from _database(f"shop.{schema}", "online", "shop")
        for table in tables:
            urn = dataset("postgres", f"shop.{schema}.{table}")
            yield _inside(urn, f"shop.{schema}")
            yield _in_domain(urn, "finance" if schema == "payments" else "online")
            yield _owned(urn, (_user("rosa" if schema == "payments" else "sami"), _TECHNICAL))


def _streams() -> Iterator[Record]:
    for topic in TOPICS:
        urn = dataset("kafka", topic)
        yield _in_domain(urn, "customers" if topic.startswith("customer") else "online")
        yield _owned(urn, (_group("web"), _TECHNICAL))


def _pipelines() -> Iterator[Record]:
    for area in AREAS:
        flow = f"urn:li:dataFlow:(airflow,load_{area.name},PROD)"
        yield proposal(flow, "dataFlowInfo", {"name": f"load {area.name}"})
        yield _in_domain(flow, area.domain)
        yield _owned(flow, (_user(area.engineer), _TECHNICAL))
        for table in area.tables[:6]:
            job = f"urn:li:dataJob:({flow},{table})"
            yield proposal(job, "dataJobInfo", {"name": table, "type": {"string": "COMMAND"}})
            yield _in_domain(job, area.domain)


def _reports() -> Iterator[Record]:
    for area in AREAS:
        for table in area.tables[:10]:
            urn = f"urn:li:chart:(tableau,{area.name}.{table})"
            yield _in_domain(urn, area.domain)
            yield _owned(urn, (_group(area.group), _BUSINESS))
        for number, table in enumerate(area.tables[:3], 1):
            urn = f"urn:li:dashboard:(tableau,{area.name}-{number})"
            info = {"title": f"{area.name}: {table} at a glance", "description": ""}
            yield proposal(urn, "dashboardInfo", {**info, "lastModified": {}, "charts": []})
            yield _in_domain(urn, area.domain)
            yield _owned(urn, (_user(area.steward), _BUSINESS))
    yield _tagged("urn:li:chart:(tableau,marketing.campaigns)", "campaign", "spring")
    yield _tagged("urn:li:dashboard:(tableau,marketing-1)", "campaign", "restricted")


def _products() -> Iterator[Record]:
    wanted: Sequence[tuple[str, str, Area, int]] = [
        ("store-figures", "stores", AREAS[0], 4),
        ("stock-and-freight", "supply", AREAS[1], 5),
        ("closing-books", "finance", AREAS[2], 4),
        ("customer-360", "customers", AREAS[3], 5),
        ("campaign-results", "marketing", AREAS[4], 4),
        ("shop-funnel", "online", AREAS[5], 4),
        ("headcount", "people", AREAS[6], 2),
        ("product-catalogue", "reference", AREAS[7], 6),
    ]
    for name, domain, area, count in wanted:
        urn = f"urn:li:dataProduct:{name}"
        assets = [
            {"destinationUrn": dataset("iceberg", f"lake.{area.name}_mart.{table}_daily")}
            for table in area.tables[:count]
        ]
        yield proposal(urn, "dataProductProperties", {"name": name, "assets": assets})
        yield _in_domain(urn, domain)
        yield _owned(urn, (_user(area.steward), _BUSINESS))


def _science() -> Iterator[Record]:
    for name in ("demand", "churn", "basket", "prices", "returns", "footfall"):
        urn = f"urn:li:mlModel:(urn:li:dataPlatform:mlflow,{name},PROD)"
        yield _in_domain(urn, "science")
        yield _owned(urn, (_user("zeno"), _TECHNICAL), (_user("xenia"), _BUSINESS))


def _queries() -> Iterator[Record]:
    for area in AREAS:
        for number, table in enumerate(area.tables[:3], 1):
            urn = f"urn:li:query:{area.name}-{number}"
            statement = {"value": f"table lake.{area.name}.{table}", "language": "SQL"}
            info = {"statement": statement, "source": "MANUAL", "created": STAMP}
            subject = {"entity": dataset("iceberg", f"lake.{area.name}.{table}")}
            # First, for who may make a query is asked of its subjects.
            yield proposal(urn, "querySubjects", {"subjects": [subject]})
            yield proposal(urn, "queryProperties", {**info, "lastModified": STAMP})


def _orphans() -> Iterator[Record]:
    """Planted: tables that nobody owns and no domain holds, and a tag that is no URN."""
    for name in ("scratch.salaries_copy", "scratch.orders_old", "scratch.test_1"):
        urn = dataset("iceberg", name)
        yield proposal(urn, "datasetProperties", {"name": name, "customProperties": {}})
    bare = {"tags": [{"tag": "personal-data"}]}
    yield proposal(dataset("iceberg", "scratch.salaries_copy"), "globalTags", bare)
    yield proposal(dataset("iceberg", "lake.sales.orders_2019"), "status", {"removed": True})


def _criterion(field: str, *values: str, condition: str = "EQUALS") -> Record:
    return {"field": field, "values": list(values), "condition": condition}


def _where(*criteria: Record) -> Record:
    return {"filter": {"criteria": list(criteria)}}


def _actors(**given: object) -> Record:
    nobody = {"users": [], "groups": [], "roles": [], "resourceOwners": False}
    return {**nobody, "allUsers": False, "allGroups": False, **given}


def _of_groups(*names: str) -> Record:
    return _actors(groups=[_group(name) for name in names])


def _policy(
    name: str,
    title: str,
    privileges: Sequence[str],
    actors: Record,
    resources: Record | None = None,
    *,
    type: str = "METADATA",
    state: str = "ACTIVE",
) -> Record:
    info: Record = {
        "displayName": title,
        "description": "",
        "type": type,
        "state": state,
        "privileges": list(privileges),
        "actors": actors,
        "editable": True,
    }
    if resources is not None:
        info["resources"] = resources
    return proposal(f"urn:li:dataHubPolicy:{name}", "dataHubPolicyInfo", info)


def _policies() -> Iterator[Record]:
    yield from _switched_off()
    yield from _reading()
    yield from _editing()
    yield from _administering()
    yield from _mistaken()


def _switched_off() -> Iterator[Record]:
    """Shipped policies that Quillmere replaced by its own."""
    shipped = {
        "view-entity-page-all": (["VIEW_ENTITY_PAGE"], _actors(allUsers=True)),
        "view-dataset-sensitive": (["VIEW_DATASET_USAGE"], _actors(allUsers=True)),
        "asset-owners-metadata-policy": (["EDIT_ENTITY"], _actors(resourceOwners=True)),
    }
    for name, (privileges, actors) in shipped.items():
        yield _policy(name, f"shipped: {name}", privileges, actors, state="INACTIVE")


def _reading() -> Iterator[Record]:
    vocabulary = ["domain", "tag", "glossaryTerm", "glossaryNode", "corpuser", "corpGroup"]
    yield _policy(
        "everybody-sees-the-words", "Everybody sees domains, tags, terms and people",
        _READ, _actors(allUsers=True), _where(_criterion("TYPE", *vocabulary)),
    )  # fmt: skip
    by_domain = {
        "commerce": ("sales", "marketing", "web"),
        "operations": ("supply", "sales"),
        "finance": ("finance", "audit"),
        "people": ("people",),
        "science": ("science",),
    }
    for domain, groups in by_domain.items():
        yield _policy(
            f"read-{domain}", f"Read {domain}", _READ, _of_groups(*groups),
            _where(_criterion("DOMAIN", _domain(domain))),
        )  # fmt: skip
    yield _policy(
        "read-customers", "Read about customers, but no personal data",
        _READ, _of_groups("care", "marketing"),
        _where(
            _criterion("DOMAIN", _domain("customers")),
            _criterion("TAG", _tag("personal-data"), condition="NOT_EQUALS"),
        ),
    )  # fmt: skip
    yield _policy(
        "read-personal-data", "Care reads personal data of customers",
        _READ, _of_groups("care"),
        _where(
            _criterion("DOMAIN", _domain("customers")),
            _criterion("TAG", _tag("personal-data")),
        ),
    )  # fmt: skip
    yield _policy(
        "audit-classified", "Audit reads whatever is classified",
        _READ, _of_groups("audit"),
        _where(_criterion("GLOSSARY", "urn:li:glossaryNode:classification")),
    )  # fmt: skip
    yield _policy(
        "owners-see-their-own", "Whoever owns something sees it",
        _READ, _actors(resourceOwners=True),
    )  # fmt: skip


def _editing() -> Iterator[Record]:
    yield _policy(
        "technical-owners-edit", "Technical owners edit what they own",
        ["EDIT_ENTITY", "EDIT_LINEAGE", "DELETE_ENTITY"],
        _actors(resourceOwners=True, resourceOwnersTypes=[_TECHNICAL]),
    )  # fmt: skip
    yield _policy(
        "stewards-describe", "Stewards describe, tag and sort all assets",
        [
            "EDIT_DOMAINS_PRIVILEGE",
            "EDIT_ENTITY_DOCS",
            "EDIT_ENTITY_GLOSSARY_TERMS",
            "EDIT_ENTITY_QUERIES",
            "EDIT_ENTITY_TAGS",
            "VIEW_ENTITY_PAGE",
        ],
        _of_groups("stewards"),
        _where(_criterion("TYPE", *_ASSETS)),
    )  # fmt: skip
    seasons = [_tag("campaign"), _tag("spring"), _tag("autumn")]
    yield _policy(
        "campaign-tags", "Marketing sets the tags of campaigns, and no others",
        ["EDIT_ENTITY_TAGS"], _of_groups("marketing"),
        {
            **_where(_criterion("DOMAIN", _domain("marketing"))),
            "privilegeConstraints": {"criteria": [_criterion("URN", *seasons)]},
        },
    )  # fmt: skip
    yield _policy(
        "finance-terms", "Finance words its own terms",
        ["EDIT_ENTITY", "EDIT_ENTITY_DOCS"], _of_groups("finance"),
        _where(_criterion("GLOSSARY", "urn:li:glossaryNode:finance-terms")),
    )  # fmt: skip
    values = {"propertyUrn": "urn:li:structuredProperty:retention", "values": ["ten years"]}
    property = {**_criterion("STRUCTURED_PROPERTY"), "structuredPropertyValues": [values]}
    yield _policy(
        "keep-ten-years", "Audit marks what has to be kept",
        ["EDIT_DEPRECATION_PRIVILEGE", "EDIT_ENTITY_STATUS"], _of_groups("audit"),
        _where(property),
    )  # fmt: skip
    yield _policy(
        "books-as-files", "Audit reads the books' data",
        ["DATA_READ_ONLY"], _of_groups("audit"),
        _where(_criterion("CONTAINER", _container("lake.finance"))),
    )  # fmt: skip
    yield _policy(
        "commerce-products", "Sales manages the data products of commerce",
        ["MANAGE_DATA_PRODUCTS"], _of_groups("sales"),
        _where(_criterion("TYPE", "domain"), _criterion("DOMAIN", _domain("commerce"))),
    )  # fmt: skip


def _administering() -> Iterator[Record]:
    yield _policy(
        "stewards-vocabulary", "Stewards keep tags, terms and domains",
        ["MANAGE_DOMAINS", "MANAGE_GLOSSARIES", "MANAGE_TAGS"], _of_groups("stewards"),
        type="PLATFORM",
    )  # fmt: skip
    yield _policy(
        "everybody-makes-tokens", "Everybody makes tokens of his own",
        ["GENERATE_PERSONAL_ACCESS_TOKENS"], _actors(allGroups=True), type="PLATFORM",
    )  # fmt: skip


def _mistaken() -> Iterator[Record]:
    """Planted: the README beside this file says what is wrong with each."""
    yield _policy(
        "not-people", "Sales reads everything but people's data",
        _READ, _of_groups("sales"),
        _where(_criterion("DOMAIN", _domain("people"), condition="NOT_EQUALS")),
    )  # fmt: skip
    yield _policy(
        "custodians-edit", "Custodians edit what they look after",
        ["EDIT_ENTITY"], _actors(resourceOwners=True, resourceOwnersTypes=[]),
    )  # fmt: skip
    for number, table in enumerate(("sales.orders", "sales.returns", "supply.stock"), 1):
        yield _policy(
            f"milo-{number}", f"Milo needs {table}",
            _READ, _actors(users=[_user("milo")]),
            _where(_criterion("URN", dataset("iceberg", f"lake.{table}"))),
        )  # fmt: skip
    yield _policy(
        "interns-read", "Interns read reference data",
        _READ, _of_groups("interns"), _where(_criterion("DOMAIN", _domain("reference"))),
    )  # fmt: skip
    yield _policy(
        "read-logistics", "Read logistics",
        _READ, _of_groups("supply"), _where(_criterion("DOMAIN", _domain("logistics"))),
    )  # fmt: skip
    yield _policy(
        "read-finance-again", "Finance reads finance",
        _READ, _of_groups("finance"),
        _where(_criterion("DOMAIN", _domain("finance")), _criterion("TYPE", "dataset")),
    )  # fmt: skip
    yield _policy(
        "edda-policies", "Edda may change policies",
        ["MANAGE_POLICIES"], _actors(users=[_user("edda")]), type="PLATFORM",
    )  # fmt: skip
    yield _policy(
        "old-web", "Web shop before the move",
        _READ, _of_groups("web"), _where(_criterion("DOMAIN", _domain("online"))),
        state="INACTIVE",
    )  # fmt: skip
    yield _policy(
        "half-written", "New idea for suppliers",
        _READ, _of_groups("supply"),
        state="DRAFT",
    )  # fmt: skip


_DATASET: Final = "urn:li:dataset:(urn:li:dataPlatform:iceberg,{},PROD)"
_PROFILES: Final = _DATASET.format("lake.customers.profiles")

_QUESTIONS: Final = (
    Question(
        "explain",
        "May Ella of customer care see the customers' profiles, which are personal data?",
        "ella",
        "entity.read",
        _DATASET.format("lake.customers.profiles"),
        "One policy goes by domain and tag, the other by ownership of her group.",
    ),
    Question(
        "explain",
        "Pia looks after the orders as their custodian. May she edit them?",
        "pia",
        "entity.update",
        _DATASET.format("lake.sales.orders"),
        "The policy `custodians-edit` was meant for her, but its list of ownership types is"
        " empty: it matches no owner at all.",
    ),
    Question(
        "who",
        "Who may see a copy of the salaries that somebody left in a scratch schema?",
        "",
        "entity.read",
        _DATASET.format("scratch.salaries_copy"),
        "All of sales: `not-people` excludes the domain of people's data, and the copy is in"
        " no domain.",
    ),
)

SAMPLE: Final = SamplePart(
    path="datahub.json",
    source="datahub-file",
    files=lambda: {"datahub.json": records()},
    settings={"view_authorization": "on"},
    server_settings={"view": True},
    questions=_QUESTIONS,
    commands=(("check", "dora", "entity.read", _DATASET.format("scratch.salaries_copy")),),
    calls=(
        (
            "May she read the customers' profiles in DataHub (AuthZEN)?",
            evaluation("entity.read", "dataset", _PROFILES),
        ),
    ),
)
