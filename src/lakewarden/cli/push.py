"""`lakewarden push`: writes a realm's permissions to databases, and reports changes made there."""

from __future__ import annotations

import json
import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter

from lakewarden.cli.admin_target import RealmName, done, opened, operator, url_of
from lakewarden.cli.outcome import NO, YES, show, show_json, show_table
from lakewarden.cli.push_view import SHOWN, show_adoption, show_drift, show_plan, show_residue
from lakewarden.cli.question import As
from lakewarden.cli.question_target import Url
from lakewarden.cli.status_line import working
from lakewarden.cli.text_file import read_text, write_text
from lakewarden.kernel.errors import BadInput, Busy, Conflict, Unknown

if TYPE_CHECKING:
    from lakewarden.service.push import PushAdoption, Pushing
    from lakewarden.service.push_target import PushTarget

ADDRESS = "LAKEWARDEN_TARGET_URL"
SECRET_BYTES = 32

Target = Annotated[str, Parameter(help="Name of the target.")]
Adopt = Annotated[
    bool,
    Parameter("--adopt", negative=(), help="Also revoke grants of others that the push replaces."),
]


def add(
    name: Target,
    /,
    *,
    realm: RealmName,
    catalog: Annotated[
        str,
        Parameter(
            help="Catalog of the database, as `METALAKE.CATALOG`; for Ranger also a `METALAKE`."
        ),
    ],
    url: Annotated[
        str | None,
        Parameter(help=f"Address of the database, with the account; default: {ADDRESS}."),
    ] = None,
    style: Annotated[
        str,
        Parameter(help="System whose own plug-in defines how roles are named and divided."),
    ] = "",
    follow: Annotated[
        bool, Parameter(help="Let the server push each change automatically.", negative="")
    ] = False,
    database: Url = None,
) -> int:
    """Adds a target: a database or server that is one catalog of a realm, or a Ranger service.

    It is a PostgreSQL database, a MariaDB or MySQL (`mariadb://USER:PASSWORD@HOST:PORT`), or a
    Ranger service (`ranger+https://USER:PASSWORD@HOST:PORT/SERVICE`; for HDFS, append
    `?file_system=hdfs://HOST:PORT`; `?zone=NAME` selects a security zone, `?tags=SERVICE` adds
    policies about tags). The address is stored encrypted. The realm needs the setting `postgresql`
    or `mysql` = `on`, or the setting of the service's engine. The account needs the rights that
    `lakewarden push doctor` lists. Works on a database only.

    For example:

        lakewarden push target add pg --realm gravitino --catalog quillmere.lake --database sqlite:///estate.db
    """
    from lakewarden.service.push_target_check import declared

    address = url or os.environ.get(ADDRESS)
    if not address:
        raise BadInput(f"give --url, or set {ADDRESS}")
    new = declared(name, realm, catalog, address, style, follow=follow)
    with opened_pushing(database) as pushing:
        done(pushing.add(new, address))
    show(f"the target `{name}` is catalog `{catalog}` of `{realm}`; nothing was pushed yet")
    return YES


def remove(name: Target, /, *, database: Url = None) -> int:
    """Removes a target. What was pushed stays; run `lakewarden push reset` first to remove it.

    For example:

        lakewarden push target remove pg --database sqlite:///estate.db
    """
    with opened_pushing(database) as pushing:
        done(pushing.remove(pushing.target(name).realm, name))
    return YES


def sign(
    name: Target,
    /,
    *,
    off: Annotated[bool, Parameter(help="Stop signing events.", negative="")] = False,
    database: Url = None,
) -> int:
    """Signs drift events of a target from now on, and prints the secret that verifies them.

    Each call makes a new secret, which is stored encrypted and not shown again. The header of an
    event is `Lakewarden-Signature: t=SECONDS,v1=DIGEST`.

    For example:

        lakewarden push target sign pg --database sqlite:///estate.db
    """
    secret = "" if off else secrets.token_urlsafe(SECRET_BYTES)
    with opened_pushing(database) as pushing:
        done(pushing.sign(pushing.target(name).realm, name, secret))
    show(secret or f"events of `{name}` are no longer signed")
    return YES


def targets(*, database: Url = None, format: As = "table") -> int:
    """Lists the targets, and what was last pushed to each.

    The state of a followed target is `current`, `behind` or `failing`, with the seconds since it
    fell behind and the last error.

    For example:

        lakewarden push targets --database sqlite:///estate.db
    """
    from lakewarden.service import push_outbox

    with opened_pushing(database) as pushing:
        found, now = pushing.targets(), pushing.service.clock()
        with pushing.service.reading() as reading:
            pending = push_outbox.pending(reading, found)
    rows = [
        {
            "name": one.name,
            "kind": one.kind,
            "realm": one.realm,
            "catalog": one.place,
            "revision": one.revision,
            "roles": one.size,
            "state": push_outbox.state_of(one, pending.get(one.name)),
            "behind_seconds": push_outbox.lag_seconds(pending.get(one.name), now),
            "error": pending[one.name].error if one.name in pending else "",
        }
        for one in found
    ]
    if format == "json":
        show_json({"targets": rows})
    elif rows:
        show_table(tuple(rows[0]), [[str(cell) for cell in row.values()] for row in rows])
    else:
        show("there are no targets; `lakewarden push target add --help` says how to add one")
    return YES


def plan(
    name: Target,
    /,
    *,
    out: Annotated[Path | None, Parameter(help="File for the plan.")] = None,
    adopt: Adopt = False,
    limit: Annotated[
        int, Parameter(help="Maximum number of statements to show; --format json has all.")
    ] = SHOWN,
    database: Url = None,
    format: As = "table",
) -> int:
    """Shows what a push would create, grant and revoke, whose access changes, and what is left out.

    The statements, or the requests to Ranger, are those that `lakewarden push apply` sends.
    Exits with 0 if nothing is pending and nothing is left out, else with 1.

    For example:

        lakewarden push plan pg --out push.json --database sqlite:///estate.db
    """
    with _work(database, name) as (pushing, target):
        made = done(pushing.plan(target.realm, name, adopts=adopt))
    table = made.table()
    if out is not None:
        write_text(out, [json.dumps(table, indent=2), "\n"])
    if format == "json":
        show_json(table)
    else:
        show_plan(made, table, limit)
    return NO if made.is_pending or made.residues.count else YES


def apply(
    file: Annotated[Path, Parameter(help="The plan that `lakewarden push plan --out` wrote.")],
    /,
    *,
    adopt: Adopt = False,
    database: Url = None,
    format: As = "table",
) -> int:
    """Executes exactly a plan, in one transaction if the target supports transactions.

    In a target without transactions, the same plan finishes an interrupted push.
    Rejected if the realm or the target changed since: then plan again. Exits with 1 if
    something is left out.

    For example:

        lakewarden push apply push.json --database sqlite:///estate.db
    """
    agreed = _read(file)
    adopts = bool(agreed.get("adopted"))
    if adopts and not adopt:
        raise BadInput(
            "the plan revokes grants of others; pass --adopt to allow it", where=str(file)
        )
    with _work(database, agreed["target"]) as (pushing, target):
        answer = pushing.apply(target.realm, target.name, agreed["digest"], adopts=adopts)
        made, statements = done(answer)
    if format == "json":
        shown = {key: value for key, value in made.table().items() if key != "script"}
        show_json({**shown, "statements": statements})
    else:
        show(f"`{made.target.name}` now has what `{made.target.realm}` allows at revision"
             f" {made.revision}: {statements} statements")  # fmt: skip
        show_residue(made)
    return NO if made.residues.count else YES


def drift(
    name: Target,
    /,
    *,
    adopt: Annotated[
        Path | None,
        Parameter(
            "--adopt",
            help="File for what `lakewarden push adopt` proposes for the grants of others.",
        ),
    ] = None,
    database: Url = None,
    format: As = "table",
) -> int:
    """Shows what others changed in a target since the last push.

    The next push repairs roles and grants of lakewarden that are missing or were added. Grants of
    others that users of the realm hold are reported, and never changed; with --adopt a policy file
    for them is written, for `lakewarden plan` and `apply`. Exits with 1 if there is any drift.

    For example:

        lakewarden push drift pg --database sqlite:///estate.db
    """
    with _work(database, name) as (pushing, target):
        found = done(pushing.drift(target.realm, name))
        proposal = done(pushing.adoption(target.realm, name)) if adopt else None
    if adopt and proposal is not None:
        _write_proposal(adopt, proposal)
    if format == "json":
        show_json(found.table())
    else:
        show_drift(name, found)
        if proposal is not None:
            show_adoption(name, proposal.table())
    return NO if found.differences or found.foreign else YES


def adopt(
    name: Target,
    /,
    *,
    out: Annotated[Path | None, Parameter(help="File for the proposal.")] = None,
    database: Url = None,
    format: As = "table",
) -> int:
    """Proposes statements of the realm for the grants of others that its users hold.

    Writes a policy file for `lakewarden plan` and `apply`, and changes nothing itself. Lists the
    grants that the realm cannot express. After the file is applied and pushed, `lakewarden push
    plan --adopt` revokes the grants of others. Exits with 1 if something is left out.

    For example:

        lakewarden push adopt pg --out adopted.toml --database sqlite:///estate.db
    """
    with _work(database, name) as (pushing, target):
        proposal = done(pushing.adoption(target.realm, name))
    table = proposal.table()
    if out is not None:
        _write_proposal(out, proposal)
    if format == "json":
        show_json(table)
    else:
        show_adoption(name, table)
    return NO if table["left"] else YES


def reset(name: Target, /, *, database: Url = None) -> int:
    """Removes everything that lakewarden created in a target, and nothing else.

    For example:

        lakewarden push reset pg --database sqlite:///estate.db
    """
    with _work(database, name) as (pushing, target):
        statements = done(pushing.reset(target.realm, name))
    show(f"removed everything of lakewarden from `{name}`: {statements} statements")
    return YES


def doctor(name: Target, /, *, database: Url = None, format: As = "table") -> int:
    """Checks that the account of a target has the rights for a push; exits with 1 if it does not.

    Warns if the account has more rights than that, or is the account of lakewarden's own store. For
    Ranger it also shows which plugin holds which version of the policies.

    For example:

        lakewarden push doctor pg --database sqlite:///estate.db
    """
    with _work(database, name) as (pushing, target):
        found = done(pushing.account(target.realm, name))
    if format == "json":
        lists = {"missing": found.missing, "warnings": found.warnings, "arrived": found.arrived}
        show_json({"target": name, **lists})
    else:
        show(*(found.missing or [f"the account of `{name}` has all rights that a push needs"]))
        show(*(f"warning: {one}" for one in found.warnings))
        show(*found.arrived)
    return NO if found.missing else YES


# --- what the verbs work on ---


@contextmanager
def opened_pushing(database: str | None) -> Iterator[Pushing]:
    """The use cases, with the rights of anyone who can open the database."""
    from lakewarden.app.keys import keys_of
    from lakewarden.app.push_connection import connect_target
    from lakewarden.service.push import Pushing
    from lakewarden.store.secrets import Keys

    with opened(database) as service:
        actor = operator(service)
        write = partial(service.write, actor)
        keys = Keys(keys_of(url_of(database)))
        try:
            yield Pushing(service, actor, write, keys, connect_target)
        except Unknown as error:
            if error.kind != "target" or error.hint:
                raise
            raise Unknown("target", error.name, "`lakewarden push targets` lists them") from None


@contextmanager
def _work(database: str | None, name: str) -> Iterator[tuple[Pushing, PushTarget]]:
    """The use cases and the named target; shows progress meanwhile."""
    with opened_pushing(database) as pushing:
        target = pushing.target(name)
        with working("push", (f"query {target.kind}",)):
            try:
                yield pushing, target
            except Busy:
                raise
            except Conflict as error:
                hint = f"`lakewarden push plan {name} --out FILE`, `lakewarden push doctor {name}`"
                raise Conflict(f"{error}: {hint}") from None


def _write_proposal(file: Path, proposal: PushAdoption) -> None:
    from lakewarden.service.policy_text import written

    write_text(file, [written(proposal.policy(), "toml")])


def _read(file: Path) -> dict[str, Any]:
    from lakewarden.pushdown.plan import FORMAT

    try:
        data = json.loads(read_text(file))
    except ValueError:
        data = None
    if not isinstance(data, dict) or data.get("format") != FORMAT:
        raise BadInput("expected a plan that `lakewarden push plan --out` wrote", where=str(file))
    if not all(isinstance(data.get(name), str) for name in ("target", "digest")):
        raise BadInput("the plan names no target or no digest; plan again", where=str(file))
    return data
