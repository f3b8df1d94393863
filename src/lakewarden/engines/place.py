"""Maps the names in an engine's request to an entity, by a template of its name."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Final

DIGEST: Final = "digest"
"""The part of a template that stands for the digest of other parts."""

_PLACEHOLDER: Final = re.compile(r"\{(\w+)\}")


@dataclass(frozen=True, eq=False)
class Place:
    """One level of an engine's names: `catalog`, `schema`, `table` and so on, and its entities.

    `template` is the name of an entity of the `type`, with parts of the request in braces. With
    `digested` it may have `{digest}`: the MD5, in hexadecimal digits, of these texts as a JSON
    object with sorted keys and without spaces. SOURCE of that form: datahub-project/datahub,
    `metadata-ingestion/src/datahub/emitter/mce_builder.py` (`datahub_guid`) at 00a105f50e42.
    """

    name: str
    type: str
    template: str
    digested: Mapping[str, str] = field(default_factory=dict)

    @cached_property
    def parts(self) -> frozenset[str]:
        """The parts of a request that it uses."""
        texts = (self.template, *self.digested.values())
        return frozenset().union(*map(placeholders, texts)) - {DIGEST}

    @cached_property
    def order(self) -> tuple[str, ...]:
        """The parts, in a fixed order."""
        return tuple(sorted(self.parts))

    @cached_property
    def ends(self) -> Mapping[str, frozenset[str]]:
        """By part, its adjacent characters, which no name may contain: the name would end there."""
        found: dict[str, set[str]] = {}
        pieces = _PLACEHOLDER.split(self.template)
        for at in range(1, len(pieces), 2):
            beside = (pieces[at - 1][-1:], pieces[at + 1][:1])
            found.setdefault(pieces[at], set()).update(filter(None, beside))
        return {part: frozenset(characters) for part, characters in found.items()}

    @cached_property
    def touching(self) -> bool:
        """Whether two parts are adjacent, which makes the boundary between them ambiguous."""
        return not all(_PLACEHOLDER.split(self.template)[2:-1:2])

    def fixed(self, parts: Mapping[str, str]) -> Place:
        """The place with these parts filled in.

        >>> Place("table", "t", "{lake}:{table}").fixed({"lake": "l"}).template
        'l:{table}'
        """
        digested = {key: _put_in(text, parts) for key, text in self.digested.items()}
        return replace(self, template=_put_in(self.template, parts), digested=digested)

    def text(self, values: Mapping[str, str]) -> str | None:
        """The name of the entity; None if a part is missing, or the name would be ambiguous.

        >>> Place("table", "t", "{schema}.{table}").text({"schema": "a", "table": "b"})
        'a.b'
        >>> Place("table", "t", "{schema}.{table}").text({"schema": "a.b", "table": "c"})
        """
        if self.touching or not self.parts <= values.keys():
            return None
        for part, characters in self.ends.items():
            if part != DIGEST and not characters.isdisjoint(values[part]):
                return None
        if self.digested:
            values = {**values, DIGEST: _digest(self.digested, values)}
        return self.template.format_map(values)

    def around(self, part: str, values: Mapping[str, str]) -> tuple[str, str] | None:
        """The text before and after a part in the names of entities.

        None if the part is not in the template, or if the other parts make no name.
        """
        before, found, after = self.template.partition(f"{{{part}}}")
        if not found or self.text({**values, part: "x"}) is None:
            return None
        return before.format_map(values), after.format_map(values)


def placeholders(template: str) -> frozenset[str]:
    """The placeholders of a template, those in braces.

    >>> sorted(placeholders("{metalake}:{catalog}"))
    ['catalog', 'metalake']
    """
    return frozenset(_PLACEHOLDER.findall(template))


def _put_in(template: str, parts: Mapping[str, str]) -> str:
    return _PLACEHOLDER.sub(lambda match: parts.get(match[1], match[0]), template)


def literal(template: str) -> str:
    """The text of a template outside of its placeholders."""
    return _PLACEHOLDER.sub("", template)


def _digest(digested: Mapping[str, str], values: Mapping[str, str]) -> str:
    texts = {key: template.format_map(values) for key, template in digested.items()}
    text = json.dumps(texts, separators=(",", ":"), sort_keys=True)
    return hashlib.md5(text.encode("utf-8", "surrogatepass"), usedforsecurity=False).hexdigest()
