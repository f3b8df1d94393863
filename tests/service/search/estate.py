"""Small random estates of DataHub, and searches on them."""

from __future__ import annotations

from collections.abc import Iterator
from random import Random
from typing import Any

from lakewarden.kernel.entity import Entity
from lakewarden.systems.datahub.search.question import AnyOf, Condition, Criterion, Order, Question
from lakewarden.systems.datahub.use_cases.aspects import Write

REALM = "datahub"
PROPERTY = "urn:li:structuredProperty:level"

USERS = [f"urn:li:corpuser:{name}" for name in ("ana", "bob", "cid", "dot")]
TAGS = [f"urn:li:tag:{name}" for name in ("pii", "PII.big", "raw")]
TERMS = [f"urn:li:glossaryTerm:{name}" for name in ("Money.Cash", "Tax")]
DOMAINS = [f"urn:li:domain:{name}" for name in ("shop", "staff", "pay")]
CONTAINERS = [f"urn:li:container:{name}" for name in ("lake", "lake_a", "lake_b", "lake_a_x")]
NAMES = ("shop.orders", "shop.daily_orders", "Orders", "pay.été", "staff-list", "größe", "x1.y2")
TEXTS = ("what was sold daily", "orders of a day", "ÉTÉ sales", "", "a list of staff", "x1")
PLATFORMS = ("hive", "kafka")
TYPES = ("dataset", "chart", "container", "tag", "domain", "glossaryTerm", "corpuser", "query")


def dataset(name: str, platform: str = "hive", origin: str = "PROD") -> Entity:
    urn = f"urn:li:dataset:(urn:li:dataPlatform:{platform},{name},{origin})"
    return Entity("dataset", urn)


def of(urn: str) -> Entity:
    return Entity(urn.split(":")[2], urn)


def entities(random: Random) -> list[Entity]:
    """The entities of an estate."""
    found = [of(urn) for urn in (*USERS, *TAGS, *TERMS, *DOMAINS, *CONTAINERS)]
    for _ in range(14):
        origin = random.choice(("PROD", "DEV"))
        name = f"{random.choice(NAMES)}{random.choice(('', '_2', '.z'))}"
        found.append(dataset(name, random.choice(PLATFORMS), origin))
    found += [Entity("chart", f"urn:li:chart:(looker,{name})") for name in NAMES[:3]]
    found.append(Entity("query", "urn:li:query:orders"))
    found.append(Entity("dataHubSecret", "urn:li:dataHubSecret:orders"))
    return list(dict.fromkeys(found))


def writes(random: Random) -> Iterator[Write]:
    """All aspects of the entities of an estate."""
    stated = [write for entity in entities(random) for write in _about(random, entity)]
    random.shuffle(stated)
    yield from stated
    for id in range(random.randrange(2, 5)):
        yield _policy(random, id)


def _about(random: Random, entity: Entity) -> Iterator[Write]:
    yield Write(entity, f"{entity.type}Key", {})
    yield from (one for one in _stated(random, entity) if random.random() < 0.4)


def _stated(random: Random, entity: Entity) -> Iterator[Write]:
    def write(aspect: str, **value: Any) -> Write:
        return Write(entity, aspect, value)

    custom = {random.choice("ab"): random.choice(("1", "Two"))}
    text, title = random.choice(TEXTS), random.choice(("Orders", "Daily Orders", "Été", "zz"))
    yield write("status", removed=random.random() < 0.4)
    yield write("globalTags", tags=[{"tag": tag} for tag in random.sample(TAGS, 2)])
    yield write("glossaryTerms", terms=[{"urn": random.choice(TERMS)}])
    owners = [{"owner": user, "type": "DATAOWNER"} for user in random.sample(USERS, 2)]
    yield write("ownership", owners=owners)
    if entity.type not in ("domain", "tag"):
        yield write("domains", domains=[random.choice(DOMAINS)])
    if entity.type in ("dataset", "chart"):
        yield write("container", container=random.choice(CONTAINERS))
        value = [{"string": random.choice(("high", "7", "12.5"))}]
        yield write("structuredProperties", properties=[{"propertyUrn": PROPERTY, "values": value}])
        yield write("subTypes", typeNames=[random.choice(("View", "Table"))])
    if entity.type == "dataset":
        yield write("datasetProperties", description=text, customProperties=custom)
        yield write("editableDatasetProperties", name=title, description=text)
        path = {"fieldPath": random.choice(("buyer.mail", "day")), "description": text}
        yield write("schemaMetadata", fields=[path])
    if entity.type == "container":
        yield write("containerProperties", name=title, customProperties=custom, env="DEV")
        yield write("dataPlatformInstance", platform="urn:li:dataPlatform:hive")
        above = {"lake_a": "lake", "lake_b": "lake", "lake_a_x": "lake_a"}
        outer = above.get(entity.name.rpartition(":")[2])
        if outer is not None:
            yield write("container", container=f"urn:li:container:{outer}")
    if entity.type == "query":
        yield write("querySubjects", subjects=[{"entity": dataset("Orders").name}])


def _policy(random: Random, id: int) -> Write:
    fields = {
        "DOMAIN": DOMAINS,
        "TAG": TAGS,
        "TYPE": ["dataset", "container"],
        "CONTAINER": CONTAINERS,
        "URN": [dataset("Orders").name, TAGS[0]],
    }
    name = random.choice(sorted(fields))
    values = random.sample(fields[name], 2)
    condition = random.choice(("EQUALS", "EQUALS", "STARTS_WITH", "NOT_EQUALS"))
    criterion = {"field": name, "values": values, "condition": condition}
    value: dict[str, Any] = {
        "displayName": str(id),
        "description": "",
        "type": "METADATA",
        "state": "ACTIVE",
        "privileges": [random.choice(("VIEW_ENTITY_PAGE", "VIEW_ENTITY", "SEARCH_PRIVILEGE"))],
        "actors": {
            "users": random.sample(USERS, 2),
            "resourceOwners": random.random() < 0.5,
        },
        "editable": True,
        "resources": {"filter": {"criteria": [criterion]}},
    }
    return Write(Entity("dataHubPolicy", f"urn:li:dataHubPolicy:{id}"), "dataHubPolicyInfo", value)


QUERIES = (
    *("*", "", "orders", "ord", "daily orders", "shop.daily", "ÉTÉ", "day*", "da* ord", "x1 y2"),
    *("pii", "big pii", "buyer", "hive", "nothing", "???", "Orders", "list staff", "sold was"),
    dataset("Orders").name,
)

_VALUES: dict[str, tuple[str, ...]] = {
    "_entityType": ("dataset", "CONTAINER", "corp_user", "nonsense"),
    "platform": ("hive", "urn:li:dataPlatform:kafka", "urn:li:dataPlatform:looker"),
    "platform.keyword": ("urn:li:dataPlatform:hive",),
    "origin": ("PROD", "DEV"),
    "env": ("DEV", "PROD"),
    "removed": ("true", "false"),
    "tags": (*TAGS, "urn:li:tag:none"),
    "glossaryTerms": tuple(TERMS),
    "owners": tuple(USERS),
    "domains": tuple(DOMAINS),
    "container": tuple(CONTAINERS),
    "typeNames": ("View", "view", "Table"),
    "customProperties": ("a=1", "b=Two", "a=TWO"),
    "description": ("sold", "ORDERS of"),
    "name": ("Orders", "orders", "Été", "shop.orders"),
    "urn": (dataset("Orders").name, TAGS[0], "orders"),
    "hasTags": ("true", "false"),
    "hasDescription": ("true",),
    "structuredProperties.level": ("high", "7", "10"),
    "browsePathV2": tuple(CONTAINERS),
    "nonsense": ("x",),
}


def question(random: Random) -> Question:
    """A question."""
    types = tuple(random.sample(TYPES, random.randrange(2, len(TYPES) + 1)))
    filters = tuple(_any_of(random) for _ in range(random.choice((0, 0, 1, 1, 2))))
    order: tuple[Order, ...] = ()
    if random.random() < 0.3:
        fields = random.sample(("name", "urn", "_entityType", "platform", "_score"), 2)
        order = tuple(Order(field, random.random() < 0.5) for field in fields)
    removed = random.random() < 0.3
    query = random.choice(QUERIES)
    return Question(query, types, filters, order, removed, random.random() < 0.2)


def _any_of(random: Random) -> AnyOf:
    return tuple(
        tuple(_criterion(random) for _ in range(random.choice((1, 1, 2))))
        for _ in range(random.choice((1, 1, 2)))
    )


def _criterion(random: Random) -> Criterion:
    field = random.choice(sorted(_VALUES))
    values = _VALUES[field]
    chosen = tuple(random.sample(values, random.randrange(1, len(values) + 1)))
    equal = (Condition.EQUAL, Condition.EQUAL, Condition.IN)
    condition = random.choice((*equal, *Condition))
    chosen = tuple(_part(value, condition) for value in chosen)
    return Criterion(field, chosen, condition, random.random() < 0.25)


def _part(value: str, condition: Condition) -> str:
    """The part of a value that the condition must find."""
    half = max(1, len(value) // 2)
    match condition:
        case Condition.START_WITH:
            return value[:half].upper()
        case Condition.END_WITH:
            return value[half:].upper()
        case Condition.CONTAIN:
            return value[1 : half + 1]
        case _:
            return value
