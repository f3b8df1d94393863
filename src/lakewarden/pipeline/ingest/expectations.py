"""A steward's expectations of an ingestion: bounds on the figures of a run's report, in a file.

    [expect]
    "rows.entities" = { at_least = 1_000, shrinks_at_most = 0.1 }
    "quarantined_share" = { at_most = 0.01 }

A run that breaks an expectation makes no version, unless the caller accepts it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from lakewarden.kernel.errors import BadInput
from lakewarden.kernel.model import Model
from lakewarden.kernel.toml_section import Section
from lakewarden.pipeline.ingest.version import NotAccepted
from lakewarden.pipeline.storage.location import Location
from lakewarden.pipeline.toml_file import read_toml
from lakewarden.service.source_row import COUNTED

Table = Mapping[str, Any]
"""A report as JSON."""


@dataclass(frozen=True, slots=True)
class Figure:
    """A figure of a report: its meaning, and how to read it; a family is read by member name."""

    meaning: str
    read: Callable[[Table, str], float]
    members: str = ""


def _total(counts: Mapping[str, float]) -> float:
    return sum(counts.values())


def _share(part: float, of: float) -> float:
    return part / of if of else 0.0


def _lacking(report: Table, what: str, type: str) -> float:
    share = report["quality"][what].get(type)
    return share["lacking"] / share["of"] if share and share["of"] else 0.0


def _came_in(report: Table) -> float:
    return float(sum(rows["in"] for rows in report["rows"].values()))


def _rows(report: Table, name: str) -> float:
    return float(report["rows"][name]["out"])


_SHRINKS: Final = "shrinks_at_most"

TABLE, TYPE, NAME = "TABLE", "TYPE", "NAME"
"""The kinds of members of a family: tables, types of the model, any names."""

FIGURES: Final[Mapping[str, Figure]] = {
    "rows": Figure("rows of a table that passed the checks", _rows, TABLE),
    "quarantined": Figure("rows set aside", lambda t, _: _total(t["quarantined"])),
    "quarantined_share": Figure(
        "rows set aside, as a share of those that came in",
        lambda t, _: _share(_total(t["quarantined"]), _came_in(t)),
    ),
    "duplicates": Figure("rows that came twice", lambda t, _: float(t["quality"]["duplicates"])),
    "unknown_types": Figure(
        "entities of types that the model does not know",
        lambda t, _: _total(t["quality"]["unknown_types"]),
    ),
    "without_owner": Figure(
        "entities of a type without an owner, as a share",
        lambda t, type: _lacking(t, "without_owner", type),
        TYPE,
    ),
    "without_description": Figure(
        "entities of a type without a description, as a share",
        lambda t, type: _lacking(t, "without_description", type),
        TYPE,
    ),
    "dangling": Figure(
        "names of a kind (a type, `user`, `group`, `role`) that nothing stored bears",
        lambda t, name: t["quality"]["dangling"].get(name, 0),
        NAME,
    ),
    "orphan_share": Figure(
        "parents and targets that are not stored, as a share of the entities",
        lambda t, _: _share(_total(t["named_but_not_stored"]), _rows(t, "entities")),
    ),
    "no_counterpart": Figure(
        "what has no counterpart in the model", lambda t, _: t["no_counterpart_count"]
    ),
}
"""The figures by name; members of a family are named `FIGURE.MEMBER`."""


@dataclass(frozen=True, slots=True)
class Expectation:
    """Bounds on one figure; None means no bound.

    `shrinks_at_most` and `grows_at_most` are shares of the value in the previous version.
    """

    name: str
    at_least: float | None = None
    at_most: float | None = None
    shrinks_at_most: float | None = None
    grows_at_most: float | None = None

    def value(self, report: Table) -> float:
        """The figure in a report."""
        family, _, member = self.name.partition(".")
        return float(FIGURES[family].read(report, member))

    def broken(self, report: Table, before: Table | None) -> Iterator[Broken]:
        """The bounds that a report breaks; `before` is the report of the previous version.

        Raises `BadInput` if `before` lacks the figure, for example one of another release.
        """
        found = self.value(report)
        for bound, limit in (("at_least", self.at_least), ("at_most", self.at_most)):
            if limit is not None and (found < limit if bound == "at_least" else found > limit):
                yield Broken(self.name, bound, limit, found)
        if before is None or (self.shrinks_at_most is None and self.grows_at_most is None):
            return
        try:
            was = self.value(before)
        except (AttributeError, KeyError, TypeError):
            message = f"the report of the version before has no `{self.name}`"
            raise BadInput(f"{message}; `--accept` goes on without it") from None
        for bound, limit, loss in (
            (_SHRINKS, self.shrinks_at_most, was - found),
            ("grows_at_most", self.grows_at_most, found - was),
        ):
            if limit is not None and loss > limit * was:
                yield Broken(self.name, bound, limit, found, was)


@dataclass(frozen=True, slots=True)
class Broken:
    """A bound that a figure breaks; `before` is its value in the previous version."""

    figure: str
    bound: str
    limit: float
    found: float
    before: float | None = None

    def __str__(self) -> str:
        """The sentence for messages.

        >>> str(Broken("rows.entities", "at_least", 10.0, 3.0))
        'rows.entities: expected at_least 10, found 3'
        """
        was = "" if self.before is None else f", before {self.before:g}"
        return f"{self.figure}: expected {self.bound} {self.limit:g}, found {self.found:g}{was}"


Expectations = Sequence[Expectation]


def read_expectations(file: Location, model: Model) -> Expectations:
    """The expectations of a file. Raises `BadInput` with the place of the error."""
    section = read_toml(file)
    named = section.named("expect")
    section.close()
    if not named:
        raise BadInput("expected a table `[expect]` with figures", where=str(file))
    return [_expectation(name, bounds, model) for name, bounds in named.items()]


def check(
    expectations: Expectations, report: Table, before: Table | None, *, accept: bool
) -> list[Broken]:
    """The broken bounds. Raises `NotAccepted` with all of them unless `accept` is set.

    If it is set, a figure that the previous version lacks is not compared.
    """
    found: list[Broken] = []
    for each in expectations:
        try:
            found += each.broken(report, before)
        except BadInput:
            if not accept:
                raise
            found += each.broken(report, None)
    if found and not accept:
        message = "; ".join(map(str, found))
        raise NotAccepted(f"{message}; nothing was published, `--accept` does so")
    return found


def _expectation(name: str, bounds: Section, model: Model) -> Expectation:
    _check_name(name, bounds.where, model)
    limits = {
        bound: _limit(bounds, bound) for bound in ("at_least", "at_most", _SHRINKS, "grows_at_most")
    }
    bounds.close()
    if not any(limit is not None for limit in limits.values()):
        expected = ", ".join(f"`{bound}`" for bound in limits)
        raise BadInput(f"expected one of: {expected}", where=bounds.where)
    return Expectation(name, **limits)


def _limit(bounds: Section, bound: str) -> float | None:
    limit = bounds.number(bound)
    if limit is not None and limit < 0:
        raise BadInput("expected a number that is not negative", where=bounds.at(bound))
    if bound == _SHRINKS and limit is not None and limit > 1:
        # For example 10 for a tenth: nothing shrinks by more than its whole.
        raise BadInput("expected a share from 0 to 1, such as 0.1", where=bounds.at(bound))
    return limit


def _check_name(name: str, where: str, model: Model) -> None:
    family, dot, member = name.partition(".")
    if family not in FIGURES:
        known = ", ".join(_shown(name, figure) for name, figure in FIGURES.items())
        raise BadInput(f"unknown figure `{name}`; there are: {known}", where=where)
    members = FIGURES[family].members
    if bool(members) != bool(dot and member):
        raise BadInput(f"expected `{_shown(family, FIGURES[family])}`", where=where)
    known_members = {TABLE: COUNTED, TYPE: tuple(model.types)}.get(members)
    if known_members is not None and member not in known_members:
        listed = ", ".join(f"`{one}`" for one in known_members)
        raise BadInput(f"unknown `{member}`; there are: {listed}", where=where)


def _shown(name: str, figure: Figure) -> str:
    return f"{name}.{figure.members}" if figure.members else name
