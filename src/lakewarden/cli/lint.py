"""`lakewarden lint`: mistakes and risks in the policy of a realm."""

from __future__ import annotations

import textwrap
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any, Final, Literal

from cyclopts import Parameter

from lakewarden import __version__
from lakewarden.analysis.lint.catalogue import RULES, chosen, rule
from lakewarden.analysis.lint.finding import Finding, Rule, Severity
from lakewarden.analysis.lint.lint_context import of_facts
from lakewarden.analysis.lint.place import Place
from lakewarden.cli.admin_target import NOWHERE, At, done, opened, operator
from lakewarden.cli.folder import Folder
from lakewarden.cli.outcome import NO, YES, show, show_json, show_table
from lakewarden.cli.status_line import working
from lakewarden.kernel.errors import BadInput, Unavailable
from lakewarden.pipeline.storage.location import Location
from lakewarden.service.page_size import MAX_PAGE

if TYPE_CHECKING:
    from lakewarden.client.server import Server

Form = Literal["text", "json", "sarif"]
Level = Literal["note", "warning", "error"]
Ids = Annotated[tuple[str, ...], Parameter(show_default=False)]
Flag = Annotated[bool, Parameter(show_default=False)]

_WIDTH: Final = 96


@Parameter("*")
@dataclass(frozen=True)
class LintSelection:
    """Which rules run, and which findings are shown."""

    rule: Annotated[Ids, Parameter(help="Only this rule; repeatable.")] = ()
    ignore: Annotated[Ids, Parameter(help="Not this rule; repeatable.")] = ()
    severity: Annotated[Level, Parameter(help="Lowest severity to show.")] = "note"

    @property
    def rules(self) -> tuple[Rule, ...]:
        """The rules; raises `Unknown`."""
        return chosen(self.rule, self.ignore)

    @property
    def least(self) -> Severity:
        """The lowest severity that is shown."""
        return Severity[self.severity.upper()]


@Parameter("*")
@dataclass(frozen=True)
class RuleListing:
    """What to show about the rules, instead of findings."""

    list_rules: Annotated[Flag, Parameter(help="List the rules instead.")] = False
    explain: Annotated[str | None, Parameter(help="Explain this rule instead.")] = None


EVERYTHING: Final = LintSelection()
NOTHING: Final = RuleListing()


@dataclass(frozen=True, slots=True)
class LintedRealm:
    """A linted realm: its findings, and the file that holds it, if one does."""

    realm: str
    findings: Sequence[Finding]
    file: str = ""


def lint(
    *,
    from_: Annotated[
        tuple[Folder, ...],
        Parameter(
            "--from",
            help="Directory that `lakewarden pipeline ingest` wrote; repeatable.",
            show_default=False,
        ),
    ] = (),
    at: At = NOWHERE,
    realm: Annotated[str | None, Parameter(help="The realm of the server or database.")] = None,
    which: LintSelection = EVERYTHING,
    since: Annotated[
        int | None,
        Parameter(help="Only findings that this revision of the server or database did not have."),
    ] = None,
    instead: RuleListing = NOTHING,
    format: Annotated[Form, Parameter(help="Output format.")] = "text",
) -> int:
    """Finds mistakes and risks in the policy of a realm.

    Each finding says what is wrong, where, and how to fix it. Exit code 1 if it shows a finding of
    `warning` or above, 0 for notes alone.

    For example:

        lakewarden lint --from realm

        lakewarden lint --realm datahub --database sqlite:///estate.db --severity warning

        lakewarden lint --realm lake --server http://127.0.0.1:8090 --since 41

        lakewarden lint --explain not-equals-only
    """
    if instead.explain is not None:
        return _explain(rule(instead.explain), format)
    if instead.list_rules:
        return _list([one for one in which.rules if one.severity >= which.least], format)
    return show_findings(list(_linted(from_, at, realm, which.rules, since)), which, format)


def show_findings(realms: Sequence[LintedRealm], which: LintSelection, format: Form) -> int:
    """Shows the wanted findings and returns the exit code."""
    shown_findings = [
        finding for of in realms for finding in of.findings if finding.severity >= which.least
    ]
    if format == "sarif":
        from lakewarden.analysis.lint.sarif import sarif

        files = {linted.realm: linted.file for linted in realms if linted.file}
        show_json(sarif(shown_findings, which.rules, __version__, files))
    elif format == "json":
        show_json(
            {
                "realms": [linted.realm for linted in realms],
                "findings": [_table(f) for f in shown_findings],
            }
        )
    else:
        show(*_finding_lines(shown_findings, realms))
    return NO if any(finding.severity >= Severity.WARNING for finding in shown_findings) else YES


def _linted(
    folders: Sequence[Location], at: At, realm: str | None, rules: Sequence[Rule], since: int | None
) -> Iterator[LintedRealm]:
    """Lints every requested realm. Raises `BadInput` if the request is ambiguous."""
    if folders:
        if since is not None:
            raise BadInput("a directory has no revisions; use it with --realm", where="--since")
        if at.database is not None or at.server_options.server is not None or realm is not None:
            raise BadInput("give either --from DIR, or --realm NAME with a server or database")
        names: Counter[str] = Counter()
        for folder in folders:
            linted = _of_folder(folder, rules, names)
            names[linted.realm] += 1
            yield linted
        return
    if realm is None:
        raise BadInput("give --from DIR, or --realm NAME with --server URL or --database URL")
    server = at.remote()
    look = partial(_remote, server) if server else partial(_stored, at)
    yield LintedRealm(realm, look(realm, rules, since))


def _of_folder(folder: Location, rules: Sequence[Rule], names: Mapping[str, int]) -> LintedRealm:
    from lakewarden.analysis.lint.run import lint as look
    from lakewarden.pipeline.directory import load, set_aside
    from lakewarden.pipeline.version_folder import MANIFEST

    with working("lint", ("read", "compile", "look")) as begin:
        loaded = load(folder)
        begin("compile")
        estate = of_facts(
            loaded.facts,
            loaded.system.model,
            loaded.system.spelling,
            now=time.time(),
            set_aside=set_aside(folder, loaded.manifest),
        )
        name = loaded.manifest.realm
        realm = str(folder) if name in names else name
        begin("look")
        return LintedRealm(realm, look(realm, estate, rules), (folder / MANIFEST).as_posix())


def _stored(at: At, realm: str, rules: Sequence[Rule], since: int | None) -> Sequence[Finding]:
    from lakewarden.service.lint import linted
    from lakewarden.service.lint_history import new_since

    with working("lint", ("open", "look")) as begin, opened(at.database) as service:
        begin("look")
        now = service.clock()
        findings = done(linted(service.state, operator(service), realm, now, rules))
        if since is None:
            return findings
        with service.reading() as reading:
            return new_since(reading, realm, findings, since, rules, now)


def _remote(
    server: Server, realm: str, rules: Sequence[Rule], since: int | None
) -> Sequence[Finding]:
    """The findings of the server's own rules; findings of rules unknown here are left out."""
    from lakewarden.cli.remote import RemoteRealm

    path = f"{RemoteRealm(server, realm).path}/lint"
    ids = {rule.id for rule in rules}
    findings: list[Finding] = []
    token = ""
    try:
        while True:
            query = {"page.limit": str(MAX_PAGE)} | ({"page.token": token} if token else {})
            if since is not None:
                query["since"] = str(since)
            answer = server.ask("GET", path, None, query)
            findings += [
                _read(finding, realm) for finding in answer["findings"] if finding["rule"] in ids
            ]
            token = answer["page"]["next_token"]
            if not token:
                return findings
    except (KeyError, TypeError):
        raise Unavailable(
            f"the findings of `{server.address}` have an unknown format; is it another release?"
        ) from None


def _read(row: Mapping[str, Any], realm: str) -> Finding:
    return Finding(
        realm=realm,
        rule=RULES[row["rule"]],
        severity=Severity[row["severity"].upper()],
        place=Place(row["kind"], row["name"]),
        says=row["says"],
        fix=row["fix"],
    )


def _finding_lines(findings: Sequence[Finding], realms: Sequence[LintedRealm]) -> Iterator[str]:
    for finding in findings:
        where = f"{finding.realm}: {finding.place}" if len(realms) > 1 else str(finding.place)
        yield f"{finding.severity.label}: {finding.rule.id}: {where}"
        yield f"    {finding.says}"
        yield f"    fix: {finding.fix}"
    counts = Counter(finding.severity for finding in findings)
    counted = [
        f"{counts[s]:,} {s.label}{'' if counts[s] == 1 else 's'}" for s in reversed(Severity)
    ]
    yield ", ".join(counted)


def _table(finding: Finding) -> dict[str, object]:
    return {
        "realm": finding.realm,
        "rule": finding.rule.id,
        "severity": finding.severity.label,
        "place": {"kind": finding.place.kind, "name": finding.place.name},
        "says": finding.says,
        "fix": finding.fix,
    }


def _list(rules: Sequence[Rule], format: Form) -> int:
    if format == "text":
        rows = [(rule.id, rule.severity.label, rule.title) for rule in rules]
        show_table(("rule", "severity", "finds"), rows)
    else:
        _check_form(format)
        show_json([_rule(rule) for rule in rules])
    return YES


def _explain(rule: Rule, format: Form) -> int:
    if format != "text":
        _check_form(format)
        show_json(_rule(rule))
        return YES
    parts = [("", rule.why), ("What to do: ", rule.mend), ("Limits: ", rule.misses)]
    show(f"{rule.id} ({rule.severity.label})", rule.title)
    for head, text in parts:
        if text:
            show("", *textwrap.wrap(head + text, _WIDTH, break_on_hyphens=False))
    show("", f"Source: {rule.source}")
    return YES


def _check_form(format: Form) -> None:
    if format == "sarif":
        raise BadInput(
            "SARIF is for findings; use `--format text` or `json` for rules", where="--format"
        )


def _rule(rule: Rule) -> dict[str, object]:
    return {
        "rule": rule.id,
        "severity": rule.severity.label,
        "finds": rule.title,
        "why": rule.why,
        "mend": rule.mend,
        "misses": rule.misses,
        "source": rule.source,
    }
