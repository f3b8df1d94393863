"""All rules that the modules of `rules` declare, in the order of their ids."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from difflib import get_close_matches
from importlib import import_module
from operator import attrgetter
from pkgutil import iter_modules
from typing import Final

from lakewarden.analysis.lint import rules
from lakewarden.analysis.lint.finding import Rule
from lakewarden.kernel.errors import Unknown


def _declared() -> Iterator[Rule]:
    for module in iter_modules(rules.__path__):
        topic = import_module(f"{rules.__name__}.{module.name}")
        yield from (value for value in vars(topic).values() if isinstance(value, Rule))


RULES: Final[Mapping[str, Rule]] = {
    declared.id: declared for declared in sorted(_declared(), key=attrgetter("id"))
}
"""Every rule, by its id."""


def rule(id: str) -> Rule:
    """The rule of this id; raises `Unknown`."""
    rule = RULES.get(id)
    if rule is None:
        near = get_close_matches(id, RULES, n=1)
        hint = f"did you mean `{near[0]}`?" if near else "`lakewarden lint --list-rules` lists them"
        raise Unknown("rule", id, hint)
    return rule


def chosen(selected: Iterable[str], ignored: Iterable[str]) -> tuple[Rule, ...]:
    """The selected rules, or all if none is selected, without ignored ones; raises `Unknown`."""
    names = {rule(id).id for id in selected} or set(RULES)
    left_out = {rule(id).id for id in ignored}
    return tuple(RULES[id] for id in RULES if id in names - left_out)
