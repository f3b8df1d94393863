"""The pages about the rules: one for each, and an index.

They are generated only from the rules and their examples:

    python -m tests.analysis.lint.pages
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from lakewarden import models
from lakewarden.analysis.lint.catalogue import RULES
from lakewarden.analysis.lint.finding import Rule
from tests.analysis.lint.worlds import EXAMPLES, fixes, found

DOCS = Path(__file__).parents[3] / "docs" / "lint"
MARK = (
    "<!-- Written by `python -m tests.analysis.lint.pages` from the rules and their examples;"
    " change those instead. -->"
)

GUIDE = (
    ("Performance considerations", (
        ("number of active policies",
         "policy-count repeated-privilege duplicate-statement shadowed-statement", ""),
        ("domain resource filters",
         "domain-boundary deep-domain overlapping-domains editable-criterion", ""),
        ("container resource filters", "deep-container", ""),
        ("group membership", "many-groups busy-group crowded-user", ""),
        ("search under VBAC", "domain-boundary search-guard", ""),
        ("policy cache", "", "a policy counts here from the moment it is written"),
    )),
    ("Groups", (
        ("sync from your IdP", "empty-group", ""),
        ("one group per policy boundary", "many-groups", ""),
        ("limit overlapping group membership", "crowded-user", ""),
        ("prefer group-level policies", "per-user-policy", ""),
    )),
    ("Domains and containers", (
        ("prefer ownership-based policies", "domain-boundary", ""),
        ("domain filters only for domain entities or discovery", "domain-boundary", ""),
        ("shallow domain hierarchies", "deep-domain", ""),
        ("no full-metadata view policy per team domain", "domain-boundary view-by-type", ""),
        ("no container-based view policies on deep hierarchies", "deep-container", ""),
    )),
    ("Roles and VBAC", (
        ("no Editor or Reader for restricted users", "role-overrides-views", ""),
        ("reserve the Admin role", "many-admins may-grant", ""),
    )),
    ("Recommended patterns", (
        ("A: platform admins hold Admin only", "many-admins", ""),
        ("A: the central team's policy is broad by type", "no-resources view-by-type", ""),
        ("A: one owner-based policy per team", "typed-owner empty-statement", ""),
        ("A: domain visibility only", "domain-boundary", ""),
        ("B: domain-based View Entity in the Cloud", "domain-boundary role-overrides-views", ""),
    )),
    ("Anti-patterns", (
        ("one policy per user", "per-user-policy", ""),
        ("many overlapping domain policies", "overlapping-domains shadowed-statement", ""),
        ("deep nested domain trees", "deep-domain", ""),
        ("container-based policies on deep chains", "deep-container", ""),
        ("Reader or Editor while expecting isolation", "role-overrides-views", ""),
        ("relying on OSS view authorization alone", "search-guard", ""),
        ("large numbers of URN-specific policies", "urn-policies", ""),
    )),
    ("Ownership-based access", (
        ("assign ownership at ingestion", "homeless-entity unowned-container", ""),
        ("schema ownership", "unowned-schema", ""),
    )),
    ("Troubleshooting", (
        ("count active policies", "policy-count inactive-leftover", ""),
        ("review domain-scoped view policies", "domain-boundary", ""),
        ("check domain depth", "deep-domain", ""),
        ("review group membership", "crowded-user", ""),
        ("check role assignments", "role-overrides-views", ""),
        ("wait for the cache", "", "there is nothing to wait for"),
    )),
    ("Elsewhere in the guide", (
        ("Manage Policies makes super users", "may-grant", ""),
        ("default policies should be altered", "everyone-may-write", ""),
        ("actors: an empty list of ownership types", "empty-statement typed-owner", ""),
        ("platform privileges have no target resource", "wrong-type", ""),
        ("resources are an intersection", "empty-criterion vacuous-scope", ""),
        ("NOT_EQUALS, constraints on sub-resources", "not-equals-only lifted-constraint", ""),
    )),
)  # fmt: skip
"""The advice of the policies guide, part by part, with the rules that check it."""


def page_names() -> list[str]:
    """The file name of every page."""
    return ["index.md", *(f"{id}.md" for id in RULES)]


def pages() -> dict[str, str]:
    """Every page, by file name."""
    return {name: page_text(name) for name in page_names()}


def page_text(name: str) -> str:
    """The page of a file name."""
    return index() if name == "index.md" else page(RULES[name.removesuffix(".md")])


def index() -> str:
    """The list of all rules, with the part of the guide that each checks."""
    rows = [
        f"| [`{one.id}`]({one.id}.md) | {one.severity.label} | {_systems(one)} | {one.title} |"
        for one in RULES.values()
    ]
    blocks = [
        "# The policy advisor",
        MARK,
        "`lakewarden lint` reports statements of a realm that are dangerous, ineffective or"
        " inconsistent. It changes nothing. The page of each rule has an example with findings and"
        " one without.",
        "```\nlakewarden lint --from realm\nlakewarden lint --realm datahub"
        " --server https://lakewarden.example --format sarif\nlakewarden lint --explain"
        " not-equals-only\n```",
        "Severities: an `error` is broken, a `warning` needs a change, a `note` is worth knowing."
        " The exit code is 1 if a finding of severity `warning` or above is shown. Rules prefer"
        " missed findings to false ones; the page of each rule states its limits.",
        "## Rules",
        "| Rule | Severity | Systems | Finds |\n|---|---|---|---|\n" + "\n".join(rows),
        "## What the DataHub guide advises",
        "The parts of “Designing policies for view-based access control” in the Policies Guide,"
        " in their order.",
    ]
    lines = ["| Part | Advice | Rules |", "|---|---|---|"]
    for part, advice in GUIDE:
        for text, ids, none in advice:
            links = ", ".join(f"[`{id}`]({id}.md)" for id in ids.split()) or f"none: {none}"
            lines.append(f"| {part} | {text} | {links} |")
    return "\n\n".join([*blocks, "\n".join(lines)]) + "\n"


def page(rule: Rule) -> str:
    """The page of one rule."""
    blocks = [
        f"# `{rule.id}`",
        MARK,
        f"{rule.title}.",
        f"| | |\n|---|---|\n| Severity | {rule.severity.label} |\n| Systems | {_systems(rule)} |"
        f"\n| Source | {rule.source} |",
        "## Why",
        rule.why,
        "## What to do",
        rule.mend,
    ]
    if rule.misses:
        blocks += ["## Limits", rule.misses]
    blocks += ["## Example with findings", _example(rule, "violating")]
    seen = zip(found(rule.id, "violating"), fixes(rule.id), strict=True)
    blocks += [
        f"> {one.severity}: {one.place}\\\n> {one.says}\\\n> fix: {fix}" for one, fix in seen
    ]
    blocks += ["## Example without findings", _example(rule, "clean")]
    return "\n\n".join(blocks) + "\n"


def _example(rule: Rule, name: str) -> str:
    text = (EXAMPLES / rule.id / f"{name}.toml").read_text("utf-8")
    return f"```toml\n{text}```"


def _systems(rule: Rule) -> str:
    names = ("gravitino", "datahub", "cdap")
    titles = [model.title for model in map(models.load, names) if rule.applies(model)]
    return "all" if len(titles) == len(names) else ", ".join(titles)


def write(folder: Path, texts: Iterable[tuple[str, str]]) -> None:
    """Writes the pages."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in texts:
        (folder / name).write_text(text, "utf-8")


if __name__ == "__main__":
    write(DOCS, pages().items())
