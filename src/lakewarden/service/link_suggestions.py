"""Suggested links, and the name rules that would create them.

Names of two realms are compared by their last two parts (`sales.orders`, `sales/orders`). The text
around these parts is a frame, such as `lake:hive.` and nothing, or `urn:li:dataset:(…,` and
`,PROD)`. Two frames with common parts form a rule in the form of rule files; it suggests the links
that `lakewarden pipeline link` would create with it.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Final, NamedTuple

from lakewarden.kernel.errors import BadInput, LimitExceeded
from lakewarden.service import control
from lakewarden.service.actor import Actor
from lakewarden.service.cancellation import checked
from lakewarden.service.control import Denied
from lakewarden.service.link import Asset, Link, Links
from lakewarden.service.link_rules import Rule, Rules, links_of, pattern
from lakewarden.service.links import common_directory
from lakewarden.service.state import State

MOST_ENTITIES: Final = 200_000
"""The most entities of one realm; for more, a job in Spark finds the links."""

FEWEST: Final = 2
"""The fewest pairs of a rule: a single one may be chance."""

_MOST_FRAMES: Final = 20
"""The most frames of a realm around the same parts; a name like `a.b` in more says nothing."""

_NAME: Final = re.compile(
    r"(?P<before>.*?)(?P<one>[^.,:/()]+)(?P<between>[./])(?P<two>[^.,:/()]+)(?P<after>(?:[,)].*)?)",
    re.DOTALL,
)


class _Frame(NamedTuple):
    """The text around the last two parts of names of one type."""

    type: str
    before: str
    between: str
    after: str

    @property
    def text(self) -> str:
        """The pattern, in the form of a rule file."""
        before, after = (
            text.replace("{", "{{").replace("}", "}}") for text in (self.before, self.after)
        )
        return f"{self.type}:{before}{{schema}}{self.between}{{table}}{after}"


_Parts = tuple[str, str]
_Framed = Mapping[_Parts, Mapping[_Frame, list[Asset]]]
"""The entities of a realm by their last two parts in lower case, and by the frame around them."""


@dataclass(frozen=True, slots=True)
class SuggestedRule:
    """A rule: its name, its patterns by realm in the form of files, and its number of pairs."""

    name: str
    patterns: Mapping[str, str]
    ignore_case: bool
    pairs: int


@dataclass(frozen=True, slots=True)
class Suggestions:
    """Links, each with the name of its rule; and the rules, those with most pairs first.

    Each entity is in at most one of the links.
    """

    links: tuple[tuple[Link, str], ...]
    rules: tuple[SuggestedRule, ...]


def suggestions(
    state: State, actor: Actor, realm: str, other: str, now: float
) -> Suggestions | Denied:
    """Suggests links of two realms, to callers who may create and see links there.

    Raises `Unknown` and `BadInput` for realms that can never be linked, `LimitExceeded` for large
    ones.
    """
    for name in sorted({realm, other}):
        for operation in ("link.list", "link.put"):
            refused = control.denied_in(state, actor, operation, name, now)
            if refused is not None:
                return refused
    if realm == other:
        raise BadInput("expected another realm", where="other")
    common_directory(state, realm, other)
    ones, others = (_by_frame(_free(state, name, to)) for name, to in _both(realm, other))
    linked: set[Asset] = set()
    links: list[tuple[Link, str]] = []
    rules: list[SuggestedRule] = []
    for parts, other_parts in _candidates(ones, others):
        name = f"rule {len(rules) + 1}"
        patterns = {realm: parts.text, other: other_parts.text}
        assets = [*_inside(ones, parts), *_inside(others, other_parts)]
        new_links = [
            pair
            for pair in _links_of_rule(name, patterns, assets)
            if linked.isdisjoint(pair) and _is_unambiguous(state.links, pair)
        ]
        if len(new_links) < FEWEST:
            continue
        exact = {ruled.link for ruled in links_of(_rules(name, patterns), assets)}
        rules.append(SuggestedRule(name, patterns, not exact.issuperset(new_links), len(new_links)))
        links += [(pair, name) for pair in new_links]
        linked.update(end for pair in new_links for end in pair)
    return Suggestions(tuple(sorted(links)), tuple(rules))


def _both(realm: str, other: str) -> tuple[tuple[str, str], tuple[str, str]]:
    return (realm, other), (other, realm)


def _free(state: State, realm: str, to: str) -> Iterator[Asset]:
    """The entities of a realm without a link to the other realm."""
    tree = state.realm(realm).matrix.snapshot.coded.tree
    if len(tree.stored) > MOST_ENTITIES:
        raise LimitExceeded(
            f"realm `{realm}` has {len(tree.stored):,} entities, at most {MOST_ENTITIES:,} are"
            " compared here; the pipeline links more"
        )
    for id in checked(tree.stored):
        asset = Asset(realm, tree.entity(id))
        if asset not in state.links.ends or all(end.realm != to for end in state.links.same(asset)):
            yield asset


def _by_frame(assets: Iterable[Asset]) -> dict[_Parts, dict[_Frame, list[Asset]]]:
    framed: dict[_Parts, dict[_Frame, list[Asset]]] = {}
    for asset in assets:
        match = _NAME.fullmatch(asset.entity.name)
        if match is not None:
            frame = _Frame(asset.entity.type, *match.group("before", "between", "after"))
            parts = (match["one"].lower(), match["two"].lower())
            framed.setdefault(parts, {}).setdefault(frame, []).append(asset)
    return framed


def _candidates(ones: _Framed, others: _Framed) -> list[tuple[_Frame, _Frame]]:
    """Frames of both realms with common parts, those with the most first."""
    counts: Counter[tuple[_Frame, _Frame]] = Counter()
    for parts in checked(ones.keys() & others.keys()):
        if max(len(ones[parts]), len(others[parts])) <= _MOST_FRAMES:
            counts.update((first, two) for first in ones[parts] for two in others[parts])
    fit = [pair for pair, count in counts.items() if count >= FEWEST]
    return sorted(fit, key=lambda pair: (-counts[pair], pair))


def _inside(framed: _Framed, frame: _Frame) -> Iterator[Asset]:
    for by_frame in framed.values():
        yield from by_frame.get(frame, ())


def _rules(name: str, patterns: Mapping[str, str]) -> Rules:
    rule = Rule(name, {realm: pattern(text) for realm, text in patterns.items()})
    return Rules("suggested", (rule,))


def _links_of_rule(name: str, patterns: Mapping[str, str], assets: list[Asset]) -> list[Link]:
    """The links that the rule creates, ignoring case."""
    rules = _rules(name, patterns)
    loose = replace(rules, rules=tuple(replace(rule, ignore_case=True) for rule in rules.rules))
    return [ruled.link for ruled in links_of(loose, assets)]


def _is_unambiguous(links: Links, new: Link) -> bool:
    """Whether the resulting class would have at most one entity of each realm."""
    realms = [end.realm for side in new for end in links.same(side)]
    return len(realms) == len(set(realms))
