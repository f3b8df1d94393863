"""`lakewarden realm`: the realms of a store."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated
from urllib.parse import quote

from cyclopts import Parameter

from lakewarden.cli.admin_target import NOWHERE, At, done, opened, operator
from lakewarden.cli.model_text import is_file, read_model
from lakewarden.cli.outcome import NO, YES, show, show_json, show_table
from lakewarden.cli.plan_view import access
from lakewarden.cli.question import As, Texts, pair
from lakewarden.kernel.errors import BadInput
from lakewarden.models import own
from lakewarden.names.control import HOME
from lakewarden.service.realm import Realm

if TYPE_CHECKING:
    from lakewarden.models.own import ModelText
    from lakewarden.service.model_upgrade import Upgrade

_SHOWN_ORPHANS = 20

Name = Annotated[str, Parameter(help="The realm's name.")]


def create(
    name: Name,
    /,
    *,
    model: Annotated[
        str, Parameter(help="Model of the realm: `gravitino`, `datahub`, `cdap`, or a model file.")
    ],
    setting: Annotated[Texts, Parameter(help="Setting of the model, `NAME=VALUE`.")] = (),
    directory: Annotated[str, Parameter(help="Directory of its users and groups.")] = HOME,
    at: At = NOWHERE,
) -> int:
    """Creates a realm, with the default statements of its system.

    For example:

        lakewarden realm create lake --model gravitino --database sqlite:///estate.db
        lakewarden realm create documents --model ./documents.toml --database sqlite:///estate.db
    """
    text = read_model(Path(model)) if is_file(model) else None
    settings = dict(pair(text, "--setting") for text in setting)
    remote = at.remote()
    if remote is not None:
        chosen = {"model": model} if text is None else {"model_text": text.text}
        body = {"name": name, **chosen, "directory": directory, "settings": settings}
        remote.ask("POST", "/realms", body)
        return YES
    from lakewarden.service import realms

    named = model if text is None else own.name_of(text, model)
    realm = Realm(name, named, directory, settings=settings, text=text)
    with opened(at.database, makes=True) as service:
        done(
            service.write(operator(service), lambda transaction: realms.create(transaction, realm))
        )
    return YES


def listed(*, at: At = NOWHERE, format: As = "table") -> int:
    """Lists the realms, with their models, settings and sizes.

    For example:

        lakewarden realm list --database sqlite:///estate.db
    """
    remote = at.remote()
    if remote is not None:
        realms_shown = remote.ask("GET", "/realms")["realms"]
    else:
        from lakewarden.service import realms
        from lakewarden.service.statements import stored

        with opened(at.database) as service:
            realms_shown = [
                {
                    "name": state.realm.name,
                    "model": state.realm.model,
                    "digest": None if state.realm.text is None else state.realm.text.digest,
                    "directory": state.realm.directory,
                    "settings": dict(state.system.model.settings),
                    "entities": len(state.matrix.snapshot.coded.tree.stored),
                    "statements": len(stored(state)),
                }
                for state in realms.listed(service.state, operator(service), service.clock())
            ]
    if format == "json":
        show_json(realms_shown)
    else:
        headings = ("name", "model", "directory", "entities", "statements", "settings")
        show_table(headings, (_row(listed_realm) for listed_realm in realms_shown))
    return YES if realms_shown else NO


def _row(realm: dict[str, object]) -> tuple[str, ...]:
    settings = realm["settings"]
    assert isinstance(settings, dict)  # noqa: S101 — INVARIANT: both sources give a table
    pairs = ", ".join(f"{name}={value}" for name, value in sorted(settings.items()))
    sizes = (_number(realm.get(key)) for key in ("entities", "statements"))
    return (str(realm["name"]), str(realm["model"]), str(realm["directory"]), *sizes, pairs)


def _number(value: object) -> str:
    return f"{value:,}" if isinstance(value, int) else ""


def upgrade(
    name: Name,
    /,
    *,
    model: Annotated[Path, Parameter(help="File with the new version of its model.")],
    apply: Annotated[
        bool, Parameter(help="Make the changes; default: only show them.", show_default=False)
    ] = False,
    drop: Annotated[
        bool,
        Parameter(
            help="With --apply: drop stored data that the new model does not declare.",
            show_default=False,
        ),
    ] = False,
    at: At = NOWHERE,
    format: As = "table",
) -> int:
    """Shows the effect of a new version of a realm's own model; `--apply` makes it.

    Shows added and removed names, stored data that the new version does not declare, and who gains
    and loses access. Exit code 1 if anything changes. Rejected if it would orphan stored data,
    unless `--drop` is given.

    For example:

        lakewarden realm upgrade documents --model ./documents.toml --database sqlite:///estate.db
    """
    if drop and not apply:
        raise BadInput("needs --apply", where="--drop")
    upgraded = _upgraded(name, read_model(model), str(model), apply=apply, drop=drop, at=at)
    if format == "json":
        show_json({**upgraded.table(), "applied": apply})
    else:
        for line in _upgrade_lines(upgraded, applied=apply):
            show(line)
    return YES if apply or upgraded.is_empty else NO


def _upgraded(
    name: str, text: ModelText, where: str, *, apply: bool, drop: bool, at: At
) -> Upgrade:
    from lakewarden.service import model_upgrade

    own.name_of(text, where)
    remote = at.remote()
    if remote is not None:
        body = {"model_text": text.text, "apply": apply, "drop": drop}
        path = f"/realms/{quote(name, safe='')}/upgrade"
        return model_upgrade.read_upgrade(remote.ask("POST", path, body))
    with opened(at.database) as service:
        actor = operator(service)
        if not apply:
            return done(model_upgrade.plan_upgrade(service, actor, name, text))
        return done(model_upgrade.apply_upgrade(service, actor, name, text, drop=drop))


def drop(
    name: Name,
    /,
    *,
    yes: Annotated[
        bool,
        Parameter(
            help="Required: confirms that everything in the realm is deleted.", show_default=False
        ),
    ] = False,
    at: At = NOWHERE,
) -> int:
    """Drops a realm with everything in it, and the tokens that are valid only there.

    Rejected while a target of `lakewarden push` holds what the realm allows.

    For example:

        lakewarden realm drop lake --yes --database sqlite:///estate.db
    """
    if not yes:
        raise BadInput(f"this drops everything in `{name}`; confirm with --yes")
    remote = at.remote()
    if remote is not None:
        remote.ask("DELETE", f"/realms/{quote(name, safe='')}")
        return YES
    from lakewarden.service import realms

    with opened(at.database) as service:
        done(service.write(operator(service), lambda transaction: realms.drop(transaction, name)))
    return YES


def _upgrade_lines(upgrade: Upgrade, *, applied: bool) -> Iterator[str]:
    """The changes that the new version of the model makes or has made."""
    if upgrade.is_empty:
        yield f"{upgrade.realm}: has this model already, at revision {upgrade.revision}"
        return
    done = "was upgraded" if applied else "would be upgraded"
    yield f"{upgrade.realm}: {done} from {upgrade.was[:12]} to {upgrade.now[:12]},"
    yield f"  at revision {upgrade.revision}"
    for kind, names in upgrade.terms.items():
        signs = (("+", names.new), ("-", names.gone), ("~", names.changed))
        lines = [f"  {sign} {name}" for sign, names in signs for name in names]
        if lines:
            yield from ("", kind, *lines)
    if upgrade.orphans:
        yield from ("", "dropped" if applied else "unknown to the new model: --drop drops it")
        for orphan in upgrade.orphans[:_SHOWN_ORPHANS]:
            yield f"  - {orphan.kind} {orphan.name}: {orphan.reason}"
        more = sum(upgrade.orphaned.values()) - min(len(upgrade.orphans), _SHOWN_ORPHANS)
        if more:
            yield f"  and {more:,} more"
    yield ""
    yield from access(upgrade.access)
