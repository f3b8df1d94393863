"""`lakewarden access`: who can access one asset, through any realm that contains it?"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Any

from cyclopts import Parameter

from lakewarden.cli.cross_realm import (
    NOWHERE,
    PAGE,
    CrossRealm,
    Home,
    RealmsTarget,
    note_other_realms,
)
from lakewarden.cli.outcome import NO, YES, note, show, show_csv, show_json, show_table
from lakewarden.cli.question import AsRows, Way
from lakewarden.kernel.errors import BadInput
from lakewarden.kernel.model import WAYS


def access(
    asset: Annotated[str, Parameter(help="`type:name`, or a URN.")],
    /,
    *,
    where: RealmsTarget = NOWHERE,
    home: Home = None,
    way: Annotated[
        tuple[Way, ...],
        Parameter(help="Only this access level: `see`, `read` or `change`.", show_default=False),
    ] = (),
    limit: Annotated[int, Parameter(help="At most this number of users.")] = 100,
    format: AsRows = "table",
) -> int:
    """Lists who may see, read or change ASSET, in which realms, and through which statements.

    ASSET is an entity of one realm, with all entities linked to it in others (`lakewarden link`).
    Every model maps its operations to these three access levels. Without `--realm` it covers every
    realm in which you may ask about others, and names the realms left out. Exit code 1 if nobody
    has access.

    For example:

        lakewarden access table:lake:hive.people.salaries --server http://127.0.0.1:8787

        lakewarden access table:lake:hive.people.salaries --from lake --from hub --links links
    """
    if limit < 1:
        raise BadInput(f"expected 1 or more, got {limit}", where="--limit")
    asking: dict[str, Any] = {
        "asset": asset,
        "realm": home,
        "realms": list(where.realm) or None,
        "ways": list(way or WAYS),
    }
    with where.estate() as estate:
        answer = _whole(estate, asking, limit)
    if format == "json":
        show_json(answer)
    else:
        _show(answer, format)
    return YES if answer["total"] else NO


def _whole(estate: CrossRealm, asking: dict[str, Any], limit: int) -> Any:
    """Up to `limit` people, in as many pages as needed."""
    token, people = "", list[Any]()
    while True:
        size = min(PAGE, limit - len(people))
        answer = estate.ask("access", {**asking, "limit": size, "token": token})
        people += answer["people"]
        token = answer["page"]["next_token"]
        if not token or len(people) >= limit:
            del answer["page"]
            return {**answer, "people": people}


def _show(answer: Any, format: str) -> None:
    if format == "csv":
        cells = (cell for person in answer["people"] for cell in _cells(person))
        show_csv(("person", "way", "realm", "operation", "entity", "by"), cells)
    else:
        show(*(f"{asset['realm']}: {asset['entity']}" for asset in answer["assets"]), "")
        rows = [row for person in answer["people"] for row in _rows(person)]
        if rows:
            show_table(("person", "may", "in", "by"), rows)
    for asset in answer["assets"]:
        paths = [p for p in answer["asked"] if _is_of(p, asset)]
        missing = [way for way in WAYS if not any(p["way"] == way for p in paths)]
        if not paths:
            note(f"{asset['realm']}: no operation applies to `{asset['entity']}`")
        elif set(missing) & {p["way"] for p in answer["asked"]}:
            note(f"{asset['realm']}: `{asset['entity']}` has no operation to {', '.join(missing)}")
    note_other_realms(answer)
    if not answer["total"]:
        note("nobody has access")
    elif len(answer["people"]) < answer["total"]:
        shown = f"{len(answer['people'])} of {answer['total']} people shown"
        note(f"{shown}; --limit shows more")


def _is_of(path: Any, asset: Any) -> bool:
    return bool(path["realm"] == asset["realm"] and path["entity"] == asset["entity"])


def _rows(person: Any) -> Iterator[tuple[str, str, str, str]]:
    name = person["person"]
    for by in person["by"]:
        yield name, by["way"], f"{by['realm']} ({by['operation']})", "; ".join(_reasons(by))
        name = ""


def _cells(person: Any) -> Iterator[tuple[str, ...]]:
    for by in person["by"]:
        place = by["realm"], by["operation"], by["entity"]
        yield person["person"], by["way"], *place, "; ".join(_reasons(by))


def _reasons(by: Any) -> Iterator[str]:
    if not by["told"]:
        yield "you may not have it explained"
        return
    over = {path["statement"]: path["over"] for path in by["reaching"]}
    for statement in by["statements"]:
        chain = over.get(statement["id"])
        if chain is None:
            yield f"{statement['id']} (as an owner)"
        else:
            yield f"{statement['id']} over {' → '.join(chain)}" if chain else statement["id"]
    yield from by["facts"]
