"""Findings as SARIF 2.1.0, the exchange format of code scanners.

SOURCE: OASIS, Static Analysis Results Interchange Format 2.1.0 (3.14 run, 3.19 toolComponent,
3.27 result, 3.28 location, 3.33 logicalLocation).
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from typing import Final
from urllib.parse import quote

from lakewarden.analysis.lint.finding import Finding, Rule

VERSION: Final = "2.1.0"
SCHEMA: Final = "https://json.schemastore.org/sarif-2.1.0.json"

FINGERPRINT: Final = "lakewarden/v1"
"""The name of the fingerprint that identifies a finding across runs."""

Json = dict[str, object]

_KINDS: Final = {"statement": "resource", "privilege": "member", "type": "type"}


def sarif(
    findings: Sequence[Finding],
    rules: Sequence[Rule],
    version: str,
    files: Mapping[str, str] | None = None,
) -> Json:
    """One run of the linter as a log.

    `rules` are those that were run, `version` is lakewarden's. `files` has, by realm, the
    path of its file, if there is one, with `/` between its parts.
    """
    numbers = {rule.id: number for number, rule in enumerate(rules)}
    results = [_result(finding, numbers[finding.rule.id], files or {}) for finding in findings]
    return log(version, [_rule(rule) for rule in rules], results)


def log(version: str, rules: Sequence[Json], results: Sequence[Json]) -> Json:
    """A log of one run; `rules` are reporting descriptors, `version` is lakewarden's."""
    run: Json = {
        "tool": {"driver": {"name": "lakewarden", "semanticVersion": version, "rules": rules}},
        "columnKind": "unicodeCodePoints",
        "results": results,
    }
    return {"$schema": SCHEMA, "version": VERSION, "runs": [run]}


def physical(file: str) -> Json:
    """The part of a location that names a file, by a path with `/` between its parts."""
    return {"physicalLocation": {"artifactLocation": {"uri": quote(file)}}}


def fingerprint(parts: Iterable[str]) -> str:
    """The hash that identifies a result across runs."""
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()


def _rule(rule: Rule) -> Json:
    text = f"{rule.why} {rule.mend}" + (f" Limits: {rule.misses}" if rule.misses else "")
    return {
        "id": rule.id,
        "shortDescription": {"text": _sentence(rule.title)},
        "fullDescription": {"text": rule.why},
        "help": {"text": text},
        "defaultConfiguration": {"level": rule.severity.label},
        "properties": {"source": rule.source},
    }


def _result(finding: Finding, number: int, files: Mapping[str, str]) -> Json:
    place = finding.place
    location: Json = {
        "logicalLocations": [
            {
                "name": place.name,
                "fullyQualifiedName": f"{finding.realm}/{place}",
                "kind": _KINDS.get(place.kind, place.kind),
            }
        ]
    }
    if finding.realm in files:
        location |= physical(files[finding.realm])
    return {
        "ruleId": finding.rule.id,
        "ruleIndex": number,
        "level": finding.severity.label,
        "message": {"text": _sentence(f"{place} {finding.says}") + f" {_sentence(finding.fix)}"},
        "locations": [location],
        "partialFingerprints": {
            FINGERPRINT: fingerprint((finding.realm, finding.rule.id, *place)),
        },
        "properties": {"fix": finding.fix, "realm": finding.realm},
    }


def _sentence(text: str) -> str:
    """The text as a sentence: a full stop is added unless it has an end.

    >>> _sentence("is held by nobody")
    'is held by nobody.'
    """
    return text if text.endswith((".", "?")) else f"{text}."
