"""Every verb is guarded by declared operations of the control realm, or states why not."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import lakewarden
from lakewarden import models
from lakewarden.cli import GROUPS, VERBS
from tests.cli.realms import Cli

GUARDED = {
    "check": ("decision.ask", "decision.ask_own"),
    "list": ("decision.ask", "decision.ask_own"),
    "who": ("subject.search",),
    "explain": ("explain.ask", "explain.ask_own"),
    "denials": ("explain.ask", "explain.ask_own"),
    "access": ("entity.access",),
    "privileges": ("decision.ask", "decision.ask_own"),
    "see": ("explain.ask", "explain.ask_own"),
    "operations": ("operation.list",),
    "load": ("realm.import", "link.put", "link.remove"),
    "import": ("realm.import",),
    "export": ("realm.export",),
    "plan": ("realm.plan",),
    "apply": ("realm.apply",),
    "doctor": ("server.about",),
    "lint": ("realm.lint",),
    "audit verify": ("audit.verify",),
    "audit tail": ("audit.read",),
    "audit export": ("audit.read",),
    "token create": ("token.create", "token.create_own"),
    "token list": ("token.list", "token.list_own"),
    "token revoke": ("token.revoke", "token.revoke_own"),
    "user add": ("person.add",),
    "user remove": ("person.remove",),
    "user list": ("person.list",),
    "user attributes": ("person.describe", "person.list"),
    "lookup put": ("lookup.put",),
    "lookup show": ("lookup.list",),
    "lookup list": ("lookup.list",),
    "lookup remove": ("lookup.remove",),
    "link add": ("link.put",),
    "link remove": ("link.remove",),
    "link list": ("link.list",),
    "realm create": ("realm.create",),
    "realm list": ("realm.list",),
    "realm drop": ("realm.drop",),
    "realm upgrade": ("realm.alter",),
}
"""A verb's operations on a server. On a database, the caller is whoever may open it."""

LOCAL = {
    "demo": "makes a store of its own",
    "serve": "is the server",
    "iceberg-guard": "is a server, whose realms decide",
    "gateway": "is a server; its users are asked about in its realm",
    "init": "whoever may open the database owns everything in it",
    "migrate": "whoever may open the database owns everything in it",
    "user password": "whoever may open the database owns everything in it",
    "backup": "whoever may open the database owns everything in it",
    "restore": "whoever may open the database owns everything in it",
    "secrets rotate": "needs the keys, which no server is told",
    **dict.fromkeys(
        (
            *("push target add", "push target remove", "push target sign", "push targets"),
            *("push plan", "push apply"),
            *(
                "push drift",
                "push adopt",
                "push watch",
                "push reset",
                "push doctor",
                "push deliver",
            ),
        ),
        "needs the keys, which no server is told",
    ),
    "pipeline ingest": "reads and writes files",
    "pipeline ownership": "reads and writes files",
    "pipeline link": "reads and writes files",
    "pipeline index": "reads and writes files",
    "pipeline people": "reads files",
    "pipeline review": "reads and writes files",
    "pipeline diff": "reads and writes files",
    "pipeline lint": "reads and writes files",
    "pipeline unused": "reads and writes files",
    "pipeline export": "reads and writes files",
    "pipeline access": "reads and writes files",
    "pipeline stream": "reads and writes files",
    "model check": "reads a file",
    "model new": "writes a file",
    "pipeline run": "runs other verbs, each guarded as it is",
    "pipeline watch": "runs other verbs, each guarded as it is",
    "changes": "whoever may open the database owns everything in it",
}
"""Verbs without a server request, and the reason why nothing guards them."""


def verbs() -> set[str]:
    below = {f"{group} {verb}" for group, (_, inner) in GROUPS.items() for verb in inner}
    return set(VERBS) | below


def test_every_verb_is_guarded_or_says_why_not() -> None:
    assert GUARDED.keys() | LOCAL.keys() == verbs()
    assert not GUARDED.keys() & LOCAL.keys()


def test_every_guard_is_a_declared_operation() -> None:
    declared = models.load("control").operations
    assert {name for names in GUARDED.values() for name in names} <= set(declared)


@pytest.mark.parametrize("verb", sorted(GUARDED))
def test_a_guarded_verb_takes_a_server(verb: str, cli: Cli) -> None:
    assert "--server" in cli(*verb.split(), "--help").out


def test_every_command_that_a_message_names_is_there() -> None:
    named = re.compile(r"`lakewarden ([a-z][a-z-]*)(?: ([a-z][a-z-]*))?")
    folder = Path(lakewarden.__file__).parent
    for file in folder.rglob("*.py"):
        for verb, below in named.findall(file.read_text("utf-8")):
            names = [name.partition(" ")[0] for name in GROUPS.get(verb, ("", {}))[1]]
            assert verb in VERBS or below in ("", *names), f"{file.name}: {verb} {below}"
