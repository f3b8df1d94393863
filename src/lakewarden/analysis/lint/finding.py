"""Rules and their findings."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from enum import IntEnum

from lakewarden.analysis.lint.lint_context import LintContext
from lakewarden.analysis.lint.place import Place
from lakewarden.kernel.model import Model


class Severity(IntEnum):
    """The severity: `error` is broken, `warning` needs a change, `note` is worth knowing."""

    NOTE = 1
    WARNING = 2
    ERROR = 3

    @property
    def label(self) -> str:
        """The severity as text."""
        return self.name.lower()


@dataclass(frozen=True, slots=True)
class Violation:
    """One violation of a rule: where, what is wrong there, and what would fix it.

    `severity` None: the rule's own.
    """

    place: Place
    says: str
    fix: str
    severity: Severity | None = None


Find = Callable[[LintContext], Iterator[Violation]]


def every_model(_: Model) -> bool:
    """For rules about every system."""
    return True


@dataclass(frozen=True, slots=True)
class Rule:
    """One rule. `id` names its function, its page and its test.

    `why` states the consequences, `mend` the general fix, `misses` the limits of the rule.
    `applies` says to which models the rule applies. `is_mended_by_removal`: removing the statement
    that is found loses nothing of its purpose.
    """

    id: str
    title: str
    severity: Severity
    why: str
    mend: str
    source: str
    find: Find
    applies: Callable[[Model], bool] = every_model
    misses: str = ""
    is_mended_by_removal: bool = False


def rule(  # noqa: PLR0913 — everything a rule declares
    *,
    title: str,
    severity: Severity,
    why: str,
    mend: str,
    source: str,
    applies: Callable[[Model], bool] = every_model,
    misses: str = "",
    is_mended_by_removal: bool = False,
) -> Callable[[Find], Rule]:
    """Declares the decorated function as a rule, with the name of the function as its id."""

    def declare(find: Find) -> Rule:
        id = find.__name__.replace("_", "-")
        return Rule(
            *(id, title, severity, why, mend, source, find, applies, misses, is_mended_by_removal)
        )

    return declare


@dataclass(frozen=True, slots=True)
class Finding:
    """A rule's finding in one realm."""

    realm: str
    rule: Rule
    severity: Severity
    place: Place
    says: str
    fix: str

    @property
    def fingerprint(self) -> str:
        """Identifies the finding as long as the same rule reports the same about the same place."""
        text = "\0".join((self.realm, self.rule.id, *self.place, self.says))
        return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:32]
