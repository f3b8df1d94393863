"""Rules that link entities of several realms by patterns of their names.

    keeper = "hive"                  # who keeps the links in a store; a load changes no others

    [[rule]]
    name = "hive tables"
    ignore_case = false              # compare what the variables stand for without case
    [rule.realms]                    # two realms or more
    hub = "dataset:urn:li:dataset:(urn:li:dataPlatform:hive,{schema}.{table},PROD)"
    lake = "table:lake:hive.{schema}.{table}"
    app = "dataset:{schema}.{table}"

    [[except]]                       # never link these two
    hub = "dataset:urn:li:dataset:(urn:li:dataPlatform:hive,tmp.x,PROD)"
    lake = "table:lake:hive.tmp.x"

`{table}` stands for one part of a name: anything without `.`, `,`, `:`, `/` and parentheses;
`{path...}` for one or more parts: anything without commas and parentheses. `{{` and `}}` are
literal braces. Each pattern of a rule has the same variables, each once; entities with equal values
of the variables are one asset.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Final, NamedTuple

from lakewarden.kernel.entity import NO_RESOURCE, Entity
from lakewarden.kernel.errors import BadInput, Unknown
from lakewarden.kernel.toml_section import Section
from lakewarden.names.canonical import check_text
from lakewarden.service.link import Asset, Link, Links, link
from lakewarden.service.links import MAX_KEEPER
from lakewarden.service.realm import check_realm_name
from lakewarden.service.system import System

_PART: Final = r"([^.,:/()]+)"
_PARTS: Final = r"([^,()]+)"
_TOKEN: Final = re.compile(r"\{\{|\}\}|\{(\w+)(\.\.\.)?\}|[{}]")


@dataclass(frozen=True, slots=True)
class Pattern:
    """A pattern for names of one type; `variables` are in the order of their groups.

    `body` is a regular expression for the whole name, with the same meaning in Python and Java.
    """

    type: str
    body: str
    variables: tuple[str, ...]

    def match(self, name: str) -> dict[str, str] | None:
        """The values of the variables in a name; None if it does not match."""
        match = re.fullmatch(self.body, name)
        return None if match is None else dict(zip(self.variables, match.groups(), strict=True))

    @property
    def java(self) -> str:
        """The expression for Spark, which searches anywhere in a text."""
        return rf"\A{self.body}\z"


@dataclass(frozen=True, slots=True)
class Rule:
    """Entities of these realms that match with equal variables are one asset."""

    name: str
    realms: Mapping[str, Pattern]
    ignore_case: bool = False

    @property
    def variables(self) -> tuple[str, ...]:
        """The variables, in the same order for all realms."""
        return tuple(sorted(next(iter(self.realms.values())).variables))


@dataclass(frozen=True, slots=True)
class Rules:
    """The rules of a file; `never` are the links that must not be made."""

    keeper: str
    rules: tuple[Rule, ...]
    never: frozenset[Link] = frozenset()

    @property
    def realms(self) -> tuple[str, ...]:
        """All realms that the rules name."""
        return tuple(sorted({name for rule in self.rules for name in rule.realms}))

    def types(self, realm: str) -> tuple[str, ...]:
        """The types that the rules name in a realm."""
        types = (rule.realms[realm].type for rule in self.rules if realm in rule.realms)
        return tuple(sorted(set(types)))


class RuledLink(NamedTuple):
    """A link, and the first rule by name that creates it."""

    link: Link
    rule: str


def links_of(rules: Rules, assets: Iterable[Asset]) -> list[RuledLink]:
    """The links that rules create among some entities, sorted; ambiguous links are skipped.

    Ambiguous are a key that two entities of a realm have, an entity that would be linked to two
    entities of a realm, and links that, taken together, would make one asset of two entities of a
    realm, or of two excepted entities.

    COST: in memory. For large realms `lakewarden pipeline link` finds the same links in Spark.
    """
    by_pair: dict[Link, str] = {}
    for rule in rules.rules:
        for ends in _matching_entities(rule, assets).values():
            sole = [assets[0] for assets in ends.values() if len(assets) == 1]
            for place, asset in enumerate(sole):
                for other in sole[place + 1 :]:
                    pair = link(asset, other)
                    by_pair[pair] = min(rule.name, by_pair.get(pair, rule.name))
    pairs = [RuledLink(*entry) for entry in sorted(by_pair.items()) if entry[0] not in rules.never]
    counts = Counter(
        (end, to.realm) for pair, _ in pairs for end, to in (pair, (pair.other, pair.one))
    )
    clear = [
        ruled
        for ruled in pairs
        if counts[ruled.link.one, ruled.link.other.realm] == 1
        and counts[ruled.link.other, ruled.link.one.realm] == 1
    ]
    together = Links.of((ruled.link, "") for ruled in clear)
    return [ruled for ruled in clear if _is_valid_class(together.same(ruled.link.one), rules.never)]


def _matching_entities(
    rule: Rule, assets: Iterable[Asset]
) -> dict[tuple[str, ...], dict[str, list[Asset]]]:
    """The entities that match the rule, by key and realm."""
    fitting: dict[tuple[str, ...], dict[str, list[Asset]]] = {}
    for asset in assets:
        shape = rule.realms.get(asset.realm)
        if shape is None or shape.type != asset.entity.type:
            continue
        values = shape.match(asset.entity.name)
        if values is not None:
            key = tuple(values[variable] for variable in rule.variables)
            key = tuple(map(str.lower, key)) if rule.ignore_case else key
            fitting.setdefault(key, {}).setdefault(asset.realm, []).append(asset)
    return fitting


def _is_valid_class(same: Sequence[Asset], never: frozenset[Link]) -> bool:
    """Whether a set of linked entities has at most one per realm, and contains no exception."""
    realms = {asset.realm for asset in same}
    if len(realms) != len(same):
        return False
    return not any(link(asset, other) in never for asset, other in combinations(same, 2))


def pattern(text: str) -> Pattern:
    """Parses a pattern, `type:text with {variables}`; raises `BadInput`.

    >>> pattern("table:lake:hive.{schema}.{table}").match("lake:hive.shop.orders")
    {'schema': 'shop', 'table': 'orders'}
    """
    type, colon, name = text.partition(":")
    if not (type and colon and name):
        raise BadInput(f"expected `type:name`, got `{text}`")
    body, variables, end = "", [], 0
    for token in _TOKEN.finditer(name):
        body += re.escape(name[end : token.start()])
        end = token.end()
        variable, many = token[1], token[2]
        if variable is not None:
            if variable in variables:
                raise BadInput(f"`{{{variable}}}` occurs twice")
            variables.append(variable)
            body += _PARTS if many else _PART
        elif len(token[0]) == 2:
            body += re.escape(token[0][0])
        else:
            raise BadInput(f"expected `{{name}}`, found a `{token[0]}` alone; write it twice")
    body += re.escape(name[end:])
    if not variables:
        raise BadInput("expected a variable, such as `{table}`")
    return Pattern(type, body, tuple(variables))


def read_rules(section: Section) -> Rules:
    """The rules in a file's table. Raises `BadInput` with file, field and expected value."""
    keeper = section.text("keeper")
    check_text(keeper, f"{section.where}: the keeper")
    if len(keeper) > MAX_KEEPER:
        raise BadInput(f"at most {MAX_KEEPER} characters", where=section.at("keeper"))
    rules = tuple(_rule(table) for table in section.tables("rule"))
    if not rules:
        raise BadInput("expected at least one", where=section.at("rule"))
    for name in {rule.name for rule in rules}:
        if sum(rule.name == name for rule in rules) > 1:
            raise BadInput(f"two rules have the name `{name}`", where=section.at("rule"))
    realms = {name for rule in rules for name in rule.realms}
    never = frozenset(_never(table, realms) for table in section.tables("except"))
    section.close()
    return Rules(keeper, rules, never)


def _rule(section: Section) -> Rule:
    name = section.text("name")
    ignore_case = section.flag("ignore_case")
    inner = Section(section.take("realms"), section.at("realms"))
    realms = {check_realm_name(key): _pattern(inner, key) for key in inner.names()}
    section.close()
    if len(realms) < 2:
        raise BadInput("expected two realms or more", where=inner.where)
    variables = sorted(next(iter(realms.values())).variables)
    for realm, pattern in realms.items():
        if sorted(pattern.variables) != variables:
            expected = ", ".join(f"{{{variable}}}" for variable in variables)
            raise BadInput(f"expected the variables {expected}", where=inner.at(realm))
    return Rule(name, realms, ignore_case)


def _pattern(section: Section, key: str) -> Pattern:
    try:
        return pattern(section.text(key))
    except BadInput as error:
        raise BadInput(error.message, where=error.where or section.at(key)) from None


def _never(section: Section, realms: set[str]) -> Link:
    names = section.names()
    if len(names) != 2 or not realms.issuperset(names):
        raise BadInput("expected two of the rules' realms", where=section.where)
    ends = []
    for name in names:
        type, colon, text = section.text(name).partition(":")
        if not (type and colon and text):
            raise BadInput("expected `type:name`", where=section.at(name))
        ends.append(Asset(name, Entity(type, text)))
    return link(*ends)


def check(rules: Rules, systems: Mapping[str, System], where: str) -> None:
    """Raises `BadInput` for types or names that the realms do not have."""
    missing = sorted(set(rules.realms) - set(systems))
    if missing:
        raise BadInput(f"no directory for realm `{missing[0]}`", where=where)
    for rule in rules.rules:
        for realm, pattern in rule.realms.items():
            try:
                systems[realm].model.check_type(pattern.type)
            except Unknown as error:
                raise BadInput(
                    f"rule `{rule.name}`, realm `{realm}`: {error}", where=where
                ) from None
    for pair in sorted(rules.never):
        for end in pair:
            try:
                entity = systems[end.realm].entity(str(end.entity))
            except (BadInput, Unknown) as error:
                raise BadInput(
                    f"an exception in realm `{end.realm}`: {error}", where=where
                ) from None
            if entity == NO_RESOURCE or entity != end.entity:
                raise BadInput(f"`{end}` is not in canonical form", where=where)
