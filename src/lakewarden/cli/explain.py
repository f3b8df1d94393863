"""`lakewarden explain`: why is access allowed, or what is missing?"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter

from lakewarden.cli.admin_target import At
from lakewarden.cli.cross_realm import (
    NOWHERE,
    Home,
    RealmsTarget,
    cross_realm_question,
    note_other_realms,
)
from lakewarden.cli.formatting import ExplanationContext, explanation, explanation_context
from lakewarden.cli.outcome import COULD_NOT_TELL, NO, YES, show, show_json
from lakewarden.cli.question import (
    NO_CLAIMS,
    NO_PARTS,
    Act,
    As,
    Asker,
    Claims,
    On,
    Parts,
    ask,
    open_realm,
    question,
    show_notes,
)
from lakewarden.kernel.advice import Way
from lakewarden.kernel.errors import BadInput
from lakewarden.kernel.explain import Explanation, Step
from lakewarden.kernel.explain import explain as explained
from lakewarden.kernel.request import Reason, Request
from lakewarden.kernel.statement_file import principal_text
from lakewarden.service.effective_read import ReadLimits, limits_notes, limits_of_read
from lakewarden.service.question_text import validity_notes

if TYPE_CHECKING:
    from collections.abc import Mapping

    from lakewarden.cli.remote import RemoteRealm
    from lakewarden.service.system import System


def explain(  # noqa: PLR0913 — each is an option
    principal: Asker | None = None,
    operation: Act | None = None,
    entity: On = None,
    /,
    *,
    decision: Annotated[
        str | None,
        Parameter(help="The id of a denial that an engine showed, in place of a question."),
    ] = None,
    where: RealmsTarget = NOWHERE,
    home: Home = None,
    full: Annotated[
        bool,
        Parameter(
            help="Show the whole rule, including parts that did not decide.", show_default=False
        ),
    ] = False,
    parts: Parts = NO_PARTS,
    claims: Claims = NO_CLAIMS,
    format: As = "table",
) -> int:
    """Explains why access is allowed or denied, and what would change it.

    Prints the parts of the rule that decided, the matching statements and how they apply to
    PRINCIPAL, and for a denial the smallest changes that would allow it. With several realms, the
    question covers all entities linked to ENTITY, and OPERATION may be `see`, `read` or `change`.
    Exit code 0 if allowed (in at least one realm), 1 if denied.

    For example:

        lakewarden explain ana table.load table:quillmere:lake.web.logins --from realm

        lakewarden explain ana read table:lake:hive.web.logins --all-realms

        lakewarden explain --decision df3d71493b47c5e4b --realm lake --server https://lakewarden.example
    """
    if decision is not None:
        if principal is not None:
            raise BadInput("give either a question or --decision ID")
        return _explain_decision(where, decision, format, full=full)
    if principal is None or operation is None:
        raise BadInput("give a principal and an operation, or --decision ID")
    if where.is_cross_realm(needs_one=bool(parts.attribute)):
        asking = cross_realm_question(principal, operation, entity, parts, claims, where.names())
        return _explain_in_realms(where, {**asking, "home": home}, format, full=full)
    single = where.single_realm()
    remote = single.remote()
    if remote is not None:
        asking = question(remote.model, principal, operation, entity, parts, claims)
        explanation_of_check, context, notes, limits = _explained_remotely(remote, asking)
    else:
        parsed = ask(open_realm(single), principal, operation, entity, parts, claims)
        explanation_of_check = explained(parsed.realm.matrix, parsed.request)
        context = explanation_context(parsed)
        notes = [*parsed.notes, *validity_notes(parsed.realm.matrix, parsed.request)]
        binding = limits_of_read(parsed.realm.matrix, parsed.request)
        notes += limits_notes(binding, parsed.request.principal)
        limits = None if binding is None else _limits_json(binding)
    if format == "json":
        show_json({**as_json(explanation_of_check), "notes": notes, "limits": limits})
    else:
        show(*explanation(explanation_of_check, context, full=full))
        show_notes(notes)
    if explanation_of_check.decision.reason is Reason.ERROR:
        return COULD_NOT_TELL
    return YES if explanation_of_check.decision.allow else NO


def _explained_remotely(
    remote: RemoteRealm, asking: dict[str, object]
) -> tuple[Explanation, ExplanationContext, list[str], object]:
    """A server's explanation, the context for its wording, its notes, and the limits of a read."""
    answer = remote.ask("explain", asking)
    explanation_of_check, context = _read(answer, remote.system, remote.name, asking)
    # A server of an earlier release does not return limits.
    return explanation_of_check, context, answer["notes"], answer.get("limits")


def _read(
    answer: dict[str, Any], system: System, realm: str, question: Mapping[str, object]
) -> tuple[Explanation, ExplanationContext]:
    """The explanation in an answer of the API, and the context for its wording.

    `question` has its principal, its operation, and its entity or None.
    """
    from lakewarden.cli.remote import chains, statements
    from lakewarden.cli.remote import explanation as read_explanation

    entity = question["entity"]
    request = Request(
        system.principal(str(question["principal"])),
        str(question["operation"]),
        system.entity(None if entity is None else str(entity)),
    )
    known, over = statements(answer, system, realm), chains(answer)
    context = ExplanationContext(request, known, lambda statement: over.get(statement.id))
    return read_explanation(answer, system), context


def _explain_decision(where: RealmsTarget, id: str, format: str, *, full: bool) -> int:
    """Explains a denial that an engine showed."""
    from lakewarden.cli.denials import answer_of

    if len(where.realm) != 1 or where.from_ or where.links is not None:
        raise BadInput("a decision is looked for in one realm: give --realm NAME")
    at = At(where.database, where.server_options)
    answer, system = answer_of(at, where.realm[0], id)
    reasons = answer["explanation"]
    if format == "json":
        show_json(answer)
    else:
        _show_decision(answer["denial"], reasons, system, full=full)
    return YES if reasons["allow"] else NO


def _show_decision(
    denial: dict[str, Any], reasons: dict[str, Any], system: System, *, full: bool
) -> None:
    explained_denial, context = _read(reasons, system, "realm", denial)
    show(f"denied {denial['at']} at revision {denial['revision']}: {denial['reason']}", "")
    show(*explanation(explained_denial, context, full=full))
    show_notes(reasons["notes"])


def _explain_in_realms(
    where: RealmsTarget, asking: dict[str, Any], format: str, *, full: bool
) -> int:
    with where.estate() as estate:
        answer = estate.ask("explain", asking)
        if format == "json":
            show_json(answer)
            return YES if answer["allow"] else NO
        for part in answer["realms"]:
            _show_part(part, estate.system(part["realm"]), str(asking["principal"]), full=full)
    note_other_realms(answer)
    return YES if answer["allow"] else NO


def _show_part(part: dict[str, Any], system: System, principal: str, *, full: bool) -> None:
    """Shows the answer of one realm, and its reasons."""
    reasons, question = part["explanation"], {**part, "principal": principal}
    explained_part, context = _read(reasons, system, part["realm"], question)
    show(f"in {part['realm']}", *explanation(explained_part, context, full=full), "")
    show_notes(reasons["notes"])


def as_json(explained: Explanation) -> dict[str, object]:
    """The explanation as a JSON value, with the whole rule."""
    return {
        "allow": explained.decision.allow,
        "reason": explained.decision.reason.value,
        "revision": explained.decision.revision,
        "rule": None if explained.rule is None else _step_json(explained.rule),
        "statements": list(explained.statements),
        "ways": [_way_json(way) for way in explained.ways],
    }


def _step_json(step: Step) -> dict[str, object]:
    return {
        "says": step.says,
        "holds": step.holds,
        "entity": None if step.entity is None else str(step.entity),
        "allowed_by": list(step.allowed_by),
        "denied_by": list(step.denied_by),
        "steps": [_step_json(inner) for inner in step.steps],
    }


def _limits_json(limits: ReadLimits) -> dict[str, list[str]]:
    return {
        "filters": [one.id for one in limits.filters],
        "masks": [one.id for one in limits.masks],
    }


def _way_json(way: Way) -> dict[str, object]:
    return {
        "allow": [
            {
                "privilege": need.privilege,
                "on": str(need.entity) if need.entity.type else None,
                "can_be_granted_by": None if names is None else [p.name for p in names],
            }
            for need, names in zip(way.needs, way.grantors, strict=True)
        ],
        "lift": list(way.lifted),
        "join": [principal_text(role) for role in way.joins],
        "opens": list(way.opens),
        "others": way.others,
    }
