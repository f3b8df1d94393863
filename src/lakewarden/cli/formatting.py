"""How entities, principals, statements and decisions are shown."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from lakewarden.cli.moment import shown
from lakewarden.cli.question import ParsedQuestion
from lakewarden.kernel.advice import Way
from lakewarden.kernel.entity import Entity
from lakewarden.kernel.explain import Explanation, Step
from lakewarden.kernel.implied import is_implied
from lakewarden.kernel.principal import USER, Principal
from lakewarden.kernel.request import Reason, Request
from lakewarden.kernel.statement import (
    Anything,
    Criterion,
    Matching,
    On,
    Owners,
    Scope,
    Statement,
    Where,
)
from lakewarden.kernel.statement_file import principal_text
from lakewarden.names import identities
from lakewarden.names.identities import URN
from lakewarden.service.question_text import membership_path

if TYPE_CHECKING:
    from lakewarden.pipeline.directory import Loaded

GRANTORS_SHOWN = 5
OPENED_SHOWN = 4
WORDS_SHOWN = 6

_USER_URN = "urn:li:corpuser:"
_SIGNS = {"EQUALS": "=", "NOT_EQUALS": "≠", "STARTS_WITH": "starts with"}
_REASONS = {
    Reason.NOT_STORED: "it is not stored",
    Reason.ROLE_NOT_HELD: "the active role is not held",
    Reason.ERROR: "the question could not be judged",
}


def entity_text(entity: Entity) -> str:
    """The entity in the notation of all verbs: its URN, or `type:name`; `the platform` for none."""
    return identities.entity_text(entity) or "the platform"


def principal_name(principal: Principal) -> str:
    """The principal in the notation of all verbs: a bare name for a user."""
    if principal.kind == USER:
        return principal.name.removeprefix(_USER_URN)
    return principal.name if principal.name.startswith(URN) else principal_text(principal)


@dataclass(frozen=True, slots=True)
class ExplanationContext:
    """A question, and the context for the wording of its explanation.

    `statements` are by id. `chain` is the chain of memberships over which a statement reaches the
    asker: empty if it names the asker, None if no membership connects them.
    """

    request: Request
    statements: Mapping[str, Statement]
    chain: Callable[[Statement], Sequence[Principal] | None]


def explanation_context(question: ParsedQuestion) -> ExplanationContext:
    """The context for the wording of an explanation, from a realm in this process."""
    matrix, request = question.realm.matrix, question.request
    stated = matrix.snapshot.table.statements
    return ExplanationContext(
        request,
        {id: statement for id, statement in stated.items() if not is_implied(statement)},
        lambda statement: membership_path(matrix, request, statement),
    )


def headline(request: Request, allow: bool) -> str:
    """The decision in one sentence."""
    verb = "may" if allow else "may not"
    on = f" on {entity_text(request.target)}" if request.target.type else ""
    return f"{principal_name(request.principal)} {verb} {request.operation}{on}"


def explanation(
    explained: Explanation, context: ExplanationContext, *, full: bool = False
) -> Iterator[str]:
    """A decision and its reasons, line by line.

    Shows only the parts of the rule that decided, unless `full`: for a rule that holds, what made
    it hold; for one that does not, what is missing.
    """
    yield headline(context.request, explained.decision.allow)
    if explained.decision.reason in _REASONS:
        yield f"  because {_REASONS[explained.decision.reason]}"
    elif explained.rule is not None:
        yield from _tree(
            explained.rule if full else decisive(explained.rule), 1, context.request.target
        )
    by_id = context.statements
    named = {
        id: privileges for id, privileges in _named(explained.rule, full).items() if id in by_id
    }
    if named:
        yield "the statements"
    for id, privileges in named.items():
        yield f"  {id}"
        yield f"    {statement_text(by_id[id], privileges)}"
        yield from _reaching(context, by_id[id])
    if explained.ways:
        yield "it would be allowed with"
    for way in explained.ways:
        yield f"  {_way(way)}"
        yield from _side_effects(way, context.request)
    if not explained.decision.allow and not explained.ways:
        yield "no grant would change this"


def decisive(step: Step) -> Step:
    """The step with only those steps below it that decided: those with the same truth.

    Rules have no negation, so a true part never depends on a false one, and a false part never on a
    true one. A step with a single step below it is replaced by that step.
    """
    steps = [decisive(inner) for inner in step.steps if inner.holds == step.holds]
    if len(steps) == 1 and step.says in ("all of", "any of"):
        return steps[0]
    return Step(step.says, step.holds, step.entity, step.allowed_by, step.denied_by, tuple(steps))


def _tree(step: Step, depth: int, above: Entity | None) -> Iterator[str]:
    mark = "yes" if step.holds else "no "
    at = step.entity
    where = f"  [{entity_text(at)}]" if at is not None and at != above and at.type else ""
    by = [f"allowed by {', '.join(step.allowed_by)}"] if step.allowed_by else []
    by += [f"denied by {', '.join(step.denied_by)}"] if step.denied_by else []
    why = f"  ({'; '.join(by)})" if by else ""
    yield f"{'  ' * depth}{mark} {step.says}{where}{why}"
    for inner in step.steps:
        yield from _tree(inner, depth + 1, at)


def _named(rule: Step | None, full: bool) -> dict[str, list[str]]:
    """The statements in the shown part of the rule, and what each decided there."""
    names_by_statement: dict[str, list[str]] = {}
    todo = [] if rule is None else [rule if full else decisive(rule)]
    while todo:
        step = todo.pop(0)
        for id in (*step.allowed_by, *step.denied_by):
            names_by_statement.setdefault(id, []).append(step.says.removeprefix("not denied "))
        todo = [*step.steps, *todo]
    return names_by_statement


def statement_text(statement: Statement, decided: Sequence[str] = ()) -> str:
    """A statement in one line; only its privileges in `decided`, if there are any.

    >>> from lakewarden import Warden
    >>> from lakewarden.kernel.statement_file import read_statements
    >>> system = Warden("cdap").system
    >>> table = {"id": "x", "privileges": "READ", "to": "user:ana", "matching": "dataset:a.*"}
    >>> statement_text(*read_statements([table], system.model, system.spelling, ""))
    'ALLOW READ on dataset:a.* to ana'
    """
    actors = _actors(statement.principals, statement.owners)
    to = some(actors) or ("everybody" if statement.obliges else "nobody")
    privileges = _decided_first(sorted(statement.privileges), decided) or "nothing"
    if statement.obliges:
        privileges = f"`{statement.expression}`"
        spared = _actors(statement.exceptions, statement.except_owners)
        to += f" except {some(spared)}" if spared else ""
    # Omit a title that is part of the id, such as a role's name.
    title = f" ({statement.title})" if statement.title not in statement.id else ""
    off = "" if statement.active else ", not active"
    when = _window(statement)
    return f"{statement.effect.name} {privileges}{_scope(statement)} to {to}{when}{off}{title}"


def _window(statement: Statement) -> str:
    """The period in which the statement is valid; nothing if it always is."""
    bounds = (("from", statement.valid_from), ("until", statement.valid_until))
    return "".join(f", {word} {shown(time)}" for word, time in bounds if time is not None)


def _actors(principals: Iterable[Principal], owners: Owners | None) -> list[str]:
    actors = [principal_name(principal) for principal in sorted(principals)]
    if owners is not None:
        kinds = f" of type {some(sorted(owners.types))}" if owners.types else " of no type at all"
        actors.append("its owners" + ("" if owners.types is None else kinds))
    return actors


def _decided_first(privileges: Sequence[str], decided: Sequence[str]) -> str:
    first = [privilege for privilege in privileges if privilege in decided]
    more = len(privileges) - len(first)
    if not first:
        return some(privileges)
    return ", ".join(first) + (f" (and {more} more)" if more else "")


def _scope(statement: Statement) -> str:
    text = _anchor(statement.scope)
    if statement.constraint is not None:
        text += f", touching only what has {_criteria(statement.constraint)}"
    return text


def _anchor(scope: Scope) -> str:
    match scope:
        case On(entity):
            return f" on {entity_text(entity)}"
        case Matching(type, parts):
            return f" on {type}:{'.'.join(parts)}"
        case Where(criteria):
            return f" where {_criteria(criteria)}" if criteria else " on every entity"
        case Anything():
            return " everywhere"


def _criteria(criteria: Sequence[Criterion]) -> str:
    return " and ".join(
        f"{c.field} {_SIGNS[c.condition.value]} {some(c.values) or 'nothing'}" for c in criteria
    )


def some(texts: Sequence[str], limit: int = WORDS_SHOWN) -> str:
    """The first `limit` words by name, and the number of the others.

    >>> some(["a", "b", "c"], 2)
    'a, b and 1 more'
    """
    more = len(texts) - limit
    shown = ", ".join(texts[:limit])
    return f"{shown} and {more} more" if more > 0 else shown


def counted(count: int, noun: str, plural: str = "") -> str:
    """A number of things.

    >>> counted(1, "user"), counted(2_000, "entity", "entities")
    ('1 user', '2,000 entities')
    """
    return f"{count:,} {noun if count == 1 else plural or f'{noun}s'}"


def _reaching(context: ExplanationContext, statement: Statement) -> Iterator[str]:
    """The ways in which the statement's principals include the asker."""
    asker = context.request.principal
    if asker in statement.principals:
        return
    chain = context.chain(statement)
    if chain:
        yield f"    reaches {' → '.join(principal_name(p) for p in (asker, *chain))}"
    elif statement.owners is not None:
        yield f"    reaches {principal_name(asker)} as an owner"


def _way(way: Way) -> str:
    parts = [f"entering {principal_name(role)}" for role in way.joins]
    for need, grantors in zip(way.needs, way.grantors, strict=True):
        at = f" on {entity_text(need.entity)}" if need.entity.type else ""
        parts.append(f"{need.privilege}{at}{_grantors(grantors)}")
    parts += [f"DENY {id} lifted" for id in way.lifted]
    return " and ".join(parts)


def _side_effects(way: Way, request: Request) -> Iterator[str]:
    """Other access that the way would allow."""
    parts = []
    if way.others:
        parts.append(f"{request.operation} on {way.others:,} × {request.target.type} more")
    if way.opens:
        parts.append(f"there {some(way.opens, OPENED_SHOWN)}")
    if parts:
        yield f"    also allows {'; '.join(parts)}"


def _grantors(grantors: tuple[Principal, ...] | None) -> str:
    if grantors is None:
        return ""
    names = some([principal_name(principal) for principal in grantors], GRANTORS_SHOWN)
    return f" (can be granted by {names})" if names else " (nobody stored can grant it)"


def realm_text(loaded: Loaded) -> str:
    """A realm in one line."""
    facts, manifest = loaded.facts, loaded.manifest
    users = sum(principal.kind == USER for principal in facts.principals)
    count = manifest.quarantined
    left = f", {count:,} {'row' if count == 1 else 'rows'} set aside" if count else ""
    return (
        f"{loaded.system.model.title}, version {manifest.version}:"
        f" {len(facts.entities):,} entities, {users:,} users,"
        f" {len(facts.statements):,} statements{left}"
    )
