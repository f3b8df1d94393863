"""The meaning of a search, expressed literally: each entity is examined alone, without an index."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any
from unicodedata import normalize

from lakewarden.kernel.entity import Entity
from lakewarden.kernel.relations import Facts
from lakewarden.systems.datahub import names as datahub
from lakewarden.systems.datahub.search.question import Condition, Criterion, Question

HIDDEN = {"dataHubPolicy", "dataHubSecret", "dataHubAccessToken", "inviteToken"}
NAMES = ("name", "title", "displayName", "fullName", "qualifiedName", "username")
EDITABLE = "editableDatasetProperties"

Values = dict[str, list[str]]


def words(text: str) -> list[str]:
    folded = normalize("NFKC", text).casefold()
    return "".join(c if c.isalnum() else " " for c in folded).split()


class Brute:
    """The answers for one set of facts and documents."""

    def __init__(self, facts: Facts, aspects: Mapping[Entity, Mapping[str, Any]]) -> None:
        self.facts = facts
        self.aspects = aspects
        self.parents = {row.entity: row.parent for row in facts.entities}

    def results(self, question: Question, visible: Iterable[Entity]) -> list[Entity]:
        """All results, in order."""
        criteria = [c for any_of in question.filters for group in any_of for c in group]
        shows = question.removed or any(c.field == "removed" for c in criteria)
        found = [
            e
            for e in visible
            if e.type in question.types and e.type not in HIDDEN and (shows or not self.gone(e))
        ]
        found = [e for e in found if self.rank(question, e) is not None]
        for any_of in question.filters:
            found = [
                e
                for e in found
                if not any_of or any(all(self.meets(e, c) for c in group) for group in any_of)
            ]
        found.sort(key=lambda e: (self.rank(question, e), self.key(e)))
        if any(order.field != "_score" for order in question.order):
            ranks = {e: self.rank(question, e) for e in found}
            order_of = {e: (ranks[e],) for e in found}
            found.sort(key=lambda e: e.name)
            for order in reversed(question.order):
                found.sort(key=self.sorting(order.field, order_of), reverse=order.descending)
        return found

    def sorting(self, field: str, ranks: Mapping[Entity, Any]) -> Callable[[Entity], Any]:
        match field:
            case "name":
                return lambda e: (self.name(e).casefold(), self.name(e))
            case "urn":
                return lambda e: e.name
            case "_entityType":
                return lambda e: e.type
            case "platform":
                return lambda e: (self.platform(e) or [""])[0]
            case _:
                return lambda e: ranks[e]

    def rank(self, question: Question, e: Entity) -> int | None:
        """0: its name; 1: part of its name; 2: elsewhere; None: not found."""
        query = question.query.strip()
        if not query.strip(" *"):
            return 0
        if query.startswith("urn:li:"):
            return 0 if e.name == query else None
        names = [*self.names(e), self.label(e)]
        in_name = {word for name in names for word in words(name)}
        anywhere = in_name | {word for text in self.texts(e) for word in words(text)}
        if not self.has(query, in_name if question.named else anywhere):
            return None
        if not self.has(query, in_name):
            return 2
        wholes = {"".join(words(n)) for name in names for n in (name, name.rpartition(".")[2])}
        return 0 if "".join(words(query)) in wholes else 1

    def has(self, query: str, found: set[str]) -> bool:
        pieces = [piece for piece in query.split() if words(piece)]
        if not pieces:
            return False
        starting = {words(piece)[-1] for piece in pieces if piece.endswith("*")}
        starting.add(words(pieces[-1])[-1])
        sought = {word for piece in pieces for word in words(piece)}
        return all(
            any(one.startswith(word) for one in found) if word in starting else word in found
            for word in sought
        )

    def own(self, e: Entity) -> Mapping[str, Any]:
        return self.aspects.get(e, {})

    def label(self, e: Entity) -> str:
        parts = datahub.key_parts(e.name)
        return parts[1] if len(parts) > 1 else parts[0]

    def names(self, e: Entity) -> list[str]:
        own = self.own(e)
        order = sorted(own, key=lambda aspect: (aspect != EDITABLE, aspect))
        found = [own[aspect].get(key) for key in NAMES for aspect in order]
        return [name for name in found if isinstance(name, str) and name]

    def name(self, e: Entity) -> str:
        return (self.names(e) or [self.label(e)])[0]

    def texts(self, e: Entity) -> list[str]:
        own = self.own(e)
        plain = e.name.split(":", 3)[3]
        for type in ("dataPlatform", "dataset"):
            plain = plain.replace(f"urn:li:{type}:", " ")
        found = [plain, *self.stated(e, "description"), *self.stated(e, "customProperties")]
        found += [*self.stated(e, "typeNames"), *self.stated(e, "env")]
        for column in own.get("schemaMetadata", {}).get("fields", []):
            found += [column["fieldPath"], column["description"]]
        found += [t["tag"].split(":", 3)[3] for t in own.get("globalTags", {}).get("tags", [])]
        found += [t["urn"].split(":", 3)[3] for t in own.get("glossaryTerms", {}).get("terms", [])]
        return found

    def stated(self, e: Entity, field: str) -> list[str]:
        own = self.own(e)
        match field:
            case "typeNames":
                return list(own.get("subTypes", {}).get("typeNames", []))
            case "customProperties":
                found = [value.get("customProperties", {}) for value in own.values()]
                return [f"{k}={v}" for each in found for k, v in each.items()]
            case _:
                return [value[field] for value in own.values() if value.get(field)]

    def gone(self, e: Entity) -> bool:
        return any(
            row.entity == e and row.attribute == "status.removed" for row in self.facts.attributes
        )

    def platform(self, e: Entity) -> list[str]:
        """The platform in the URN."""
        parts = datahub.key_parts(e.name)
        if e.type == "dataset":
            return [parts[0]]
        return [f"urn:li:dataPlatform:{parts[0]}"] if e.type == "chart" else []

    def containers(self, e: Entity) -> list[Entity]:
        """Its containers, nearest first."""
        found: list[Entity] = []
        parent = self.parents.get(e)
        while parent is not None:
            found.append(parent)
            parent = self.parents.get(parent)
        return [one for one in found if one.type == "container"]

    def related(self, e: Entity, kind: str) -> list[str]:
        rows = self.facts.relations
        return [row.target.name for row in rows if row.source == e and row.kind == kind]

    def values(self, e: Entity, field: str) -> list[str]:
        match field:
            case "urn":
                return [e.name]
            case "name":
                return [self.name(e)]
            case "platform":
                stated = self.own(e).get("dataPlatformInstance", {}).get("platform")
                return [*self.platform(e), *([stated] if stated else [])]
            case "origin" | "env":
                own = [datahub.key_parts(e.name)[2]] if e.type == "dataset" else []
                return own + (self.stated(e, "env") if field == "env" else [])
            case "tags":
                return self.related(e, "tag")
            case "glossaryTerms":
                return self.related(e, "term")
            case "domains":
                return self.related(e, "domain")
            case "owners":
                return [row.owner.name for row in self.facts.owners if row.entity == e]
            case "container":
                direct = self.related(e, "container")
                return direct or [one.name for one in self.containers(e)[:1]]
            case "description" | "typeNames" | "customProperties":
                return self.stated(e, field)
            case "structuredProperties.level":
                name = "urn:li:structuredProperty:level"
                rows = self.facts.attributes
                return [r.value for r in rows if r.entity == e and r.attribute == name]
            case _:
                return []

    def meets(self, e: Entity, criterion: Criterion) -> bool:
        return self.fits(e, criterion) is not criterion.negated

    def fits(self, e: Entity, criterion: Criterion) -> bool:
        field, condition = criterion.field.removesuffix(".keyword"), criterion.condition
        wanted = criterion.values
        if field in ("hasTags", "hasDescription", "removed"):
            of = {"hasTags": "tags", "hasDescription": "description"}
            is_so = self.gone(e) if field == "removed" else bool(self.values(e, of[field]))
            if condition is Condition.EXISTS:
                return is_so
            return ("true" if is_so else "false") in [value.lower() for value in wanted]
        if field == "browsePathV2" and condition is Condition.EXISTS:
            return bool(self.values(e, "container"))
        if field == "browsePathV2":
            return any(one.name in wanted for one in self.containers(e))
        if field == "_entityType":
            return condition is Condition.EXISTS or any(
                holds(plain(e.type), plain(value), condition) for value in wanted
            )
        if condition is Condition.EXISTS:
            return bool(self.values(e, field))
        if field == "platform" and condition.value in ("EQUAL", "IN", "IEQUAL"):
            wanted = tuple(v if ":" in v else f"urn:li:dataPlatform:{v}" for v in wanted)
        entities = ("tags", "glossaryTerms", "domains", "container")
        if condition.value.endswith("_INCL") and field in entities:
            return any(
                self.near(value, w, condition) for value in self.values(e, field) for w in wanted
            )
        if condition.value.endswith("_INCL") and field == "owners":
            return any(value in wanted for value in self.values(e, field))
        return any(holds(value, w, condition) for value in self.values(e, field) for w in wanted)

    def near(self, value: str, wanted: str, condition: Condition) -> bool:
        """Whether one equals, contains or is contained in the other."""
        one, other = Entity(value.split(":")[2], value), Entity(wanted.split(":")[2], wanted)
        below = condition is not Condition.ANCESTORS_INCL and other in self.above(one)
        above = condition is not Condition.DESCENDANTS_INCL and one in self.above(other)
        return one == other or below or above

    def above(self, e: Entity) -> list[Entity]:
        found, parent = [], self.parents.get(e)
        while parent is not None:
            found.append(parent)
            parent = self.parents.get(parent)
        return found

    def key(self, e: Entity) -> Any:
        """The canonical order."""
        return [(one.name, one.type) for one in (*reversed(self.above(e)), e)]

    def facet(self, field: str, found: Iterable[Entity]) -> dict[str, int]:
        counts: dict[str, int] = {}
        for e in found:
            values = [e.type] if field == "_entityType" else self.values(e, field)
            for value in dict.fromkeys(values):
                counts[value] = counts.get(value, 0) + 1
        return counts


def plain(type: str) -> str:
    return type.replace("_", "").casefold()


def holds(value: str, wanted: str, condition: Condition) -> bool:
    """Whether a value matches a wanted one."""
    a, b = value.casefold(), wanted.casefold()
    match condition.value:
        case "EQUAL" | "IN":
            return value == wanted
        case "CONTAIN":
            return b in a
        case "START_WITH":
            return a.startswith(b)
        case "END_WITH":
            return a.endswith(b)
        case "IEQUAL" | "DESCENDANTS_INCL" | "ANCESTORS_INCL" | "RELATED_INCL":
            return a == b
        case compared:
            try:
                x, y = float(value), float(wanted)
            except ValueError:
                return False
            return {
                "GREATER_THAN": x > y,
                "GREATER_THAN_OR_EQUAL_TO": x >= y,
                "LESS_THAN": x < y,
                "LESS_THAN_OR_EQUAL_TO": x <= y,
            }[compared]
