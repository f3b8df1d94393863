"""`lakewarden explain`: why may somebody do something, or what is missing?"""

from __future__ import annotations

from collections.abc import Iterator

from lakewarden.cli.asking import NOTHING, As, Asked, Extras, From, ask, tell
from lakewarden.cli.outcome import COULD_NOT_TELL, NO, YES, show_json
from lakewarden.kernel.explain import Explanation, Step, Way
from lakewarden.kernel.explain import explain as explained
from lakewarden.kernel.principal import Principal
from lakewarden.kernel.request import Reason

GRANTORS_SHOWN = 5


def explain(
    principal: str,
    operation: str,
    entity: str | None = None,
    /,
    *,
    from_: From,
    extras: Extras = NOTHING,
    format: As = "table",
) -> int:
    """Why may PRINCIPAL do OPERATION on ENTITY, or why not, and what would change it?

    Prints the operation's rule with the truth of every part, the statements that decided,
    and for a denial the smallest sets of ALLOWs that would turn it. Exit codes as `check`.

    Example: lakewarden explain ben table.load table:lake:sales.raw.orders --from realm
    """
    asked = ask(from_, principal, operation, entity, extras)
    found = explained(asked.warden.matrix, asked.request)
    if format == "json":
        show_json({**as_json(found), "notes": list(asked.notes)})
    else:
        for line in lines(found, asked):
            print(line)
        tell(asked.notes)
    if found.decision.reason is Reason.ERROR:
        return COULD_NOT_TELL
    return YES if found.decision.allow else NO


def lines(found: Explanation, asked: Asked) -> Iterator[str]:
    """The explanation for people, line by line."""
    request, decision = asked.request, found.decision
    verb = "may" if decision.allow else "may not"
    about = f" {request.target.type}:{request.target.name}" if request.target.type else ""
    yield f"{request.principal.name} {verb} {request.operation}{about} ({decision.reason.value})"
    if found.rule is not None:
        yield from _tree(found.rule, 1, None)
    for way in found.ways:
        yield f"would be allowed with: {_way(way)}"
    if not decision.allow and not found.ways:
        yield "no grant would turn this"


def _tree(step: Step, depth: int, above: object) -> Iterator[str]:
    mark = "yes" if step.holds else "no "
    where = ""
    if step.entity is not None and step.entity != above and step.entity.type:
        where = f"  [{step.entity.type}:{step.entity.name}]"
    by = [f"allowed by {', '.join(step.allowed_by)}"] if step.allowed_by else []
    by += [f"denied by {', '.join(step.denied_by)}"] if step.denied_by else []
    why = f"  ({'; '.join(by)})" if by else ""
    yield f"{'  ' * depth}{mark} {step.says}{where}{why}"
    for inner in step.steps:
        yield from _tree(inner, depth + 1, step.entity)


def _way(way: Way) -> str:
    parts = []
    for need, grantors in zip(way.needs, way.grantors, strict=True):
        at = f" on {need.entity.type}:{need.entity.name}" if need.entity.type else ""
        parts.append(f"{need.privilege}{at}{_grantors(grantors)}")
    parts += [f"DENY `{id}` lifted" for id in way.lifted]
    return " and ".join(parts)


def _grantors(grantors: tuple[Principal, ...] | None) -> str:
    if grantors is None:
        return ""
    names = [principal.name for principal in grantors[:GRANTORS_SHOWN]]
    more = len(grantors) - len(names)
    told = ", ".join(names) + (f" and {more} more" if more else "")
    return f" (can be granted by {told})" if names else " (nobody stored can grant it)"


def as_json(found: Explanation) -> dict[str, object]:
    """The explanation as a JSON value."""
    return {
        "allow": found.decision.allow,
        "reason": found.decision.reason.value,
        "revision": found.decision.revision,
        "rule": None if found.rule is None else _step_json(found.rule),
        "statements": list(found.statements),
        "ways": [_way_json(way) for way in found.ways],
    }


def _step_json(step: Step) -> dict[str, object]:
    return {
        "says": step.says,
        "holds": step.holds,
        "entity": None if step.entity is None else f"{step.entity.type}:{step.entity.name}",
        "allowed_by": list(step.allowed_by),
        "denied_by": list(step.denied_by),
        "steps": [_step_json(inner) for inner in step.steps],
    }


def _way_json(way: Way) -> dict[str, object]:
    return {
        "allow": [
            {
                "privilege": need.privilege,
                "on": f"{need.entity.type}:{need.entity.name}" if need.entity.type else None,
                "can_be_granted_by": None if names is None else [p.name for p in names],
            }
            for need, names in zip(way.needs, way.grantors, strict=True)
        ],
        "lift": list(way.lifted),
    }
