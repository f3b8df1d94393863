"""What a rule is, and what it finds."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from enum import IntEnum

from lakewarden.analysis.lint.lint_context import LintContext
from lakewarden.analysis.lint.place import Place
from lakewarden.kernel.model import Model


class Severity(IntEnum):
    """How bad it is: `error` is broken, `warning` wants a change, `note` is worth knowing."""

    NOTE = 1
    WARNING = 2
    ERROR = 3

    @property
    def label(self) -> str:
        """The severity as it is written."""
        return self.name.lower()


@dataclass(frozen=True, slots=True)
class Violation:
    """One thing that a rule found: where, what is wrong there, and what would mend it.

    `severity` None: the rule's own.
    """

    place: Place
    says: str
    fix: str
    severity: Severity | None = None


Find = Callable[[LintContext], Iterator[Violation]]


def every_model(_: Model) -> bool:
    """The rule speaks about every system."""
    return True


@dataclass(frozen=True, slots=True)
class Rule:
    """One rule. `id` names its function, its page and its test.

    `why` tells what comes of it, `mend` what to do in general, `misses` what it does not find.
    `applies` says of which models the rule speaks at all. `is_mended_by_removal`: without the
    statement that is found, nothing is lost that it is for.
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


def rule(  # noqa: PLR0913 — what there is to say of a rule
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
    """Declares the function below it to be a rule, whose id is the name of the function."""

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
        """Names the finding as long as the same rule says the same of the same."""
        text = "\0".join((self.realm, self.rule.id, *self.place, self.says))
        return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:32]
