"""Questions to a realm: check, batch, list, who, privileges, access, explain, operations."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from lakewarden.expressions.engines import check_engine
from lakewarden.http.admin.bodies.answer import (
    AccessReview,
    Answer,
    Batch,
    BatchRow,
    BindingFilter,
    HeldPrivileges,
    Listing,
    MaskedColumn,
    OperationAccess,
    RenderedRead,
    SightResponse,
    Users,
    WhoReasonResponse,
)
from lakewarden.http.admin.bodies.base import PageRequest
from lakewarden.http.admin.bodies.entity import EntityName
from lakewarden.http.admin.bodies.explanation import (
    AdviceResponse,
    BindingLimits,
    BlockingDenial,
    BlockingMembership,
    ExplanationResponse,
    MissingGrant,
    RuleStep,
    StatementPath,
)
from lakewarden.http.admin.bodies.question import (
    AccessQuestion,
    ListQuestion,
    PrincipalQuestion,
    Question,
    Questions,
    SightQuestion,
    TargetQuestion,
    UnmaskedQuestion,
    WhoQuestion,
)
from lakewarden.http.admin.bodies.vocabulary import (
    FieldResponse,
    ModelSettingResponse,
    OperationResponse,
    PrivilegeResponse,
    Vocabulary,
)
from lakewarden.http.admin.endpoint import Endpoint, HandlerResult, cut, place_of, token_after
from lakewarden.http.admin.sentences import sentence_parts
from lakewarden.http.admin.statements import statement_response
from lakewarden.http.exchange import Exchange
from lakewarden.kernel.advice import Way
from lakewarden.kernel.errors import WardenError
from lakewarden.kernel.explain import Step
from lakewarden.kernel.principal import Principal
from lakewarden.kernel.request import Decision
from lakewarden.kernel.statement import OBLIGING
from lakewarden.kernel.statement_file import principal_text
from lakewarden.names.identities import entity_text
from lakewarden.service import control, questions, vocabulary
from lakewarden.service.control import Denied
from lakewarden.service.effective_read import (
    ReadLimits,
    denied_notes,
    effective_read,
    unmasked_users,
)
from lakewarden.service.question_text import QuestionText
from lakewarden.service.questions import Reasons
from lakewarden.service.sentence import Sentences
from lakewarden.service.who_reasons import WhoReason, who_reasons

_BATCH_BYTES = 4 * 1024 * 1024
_SAMPLE = 20


def question_text(body: TargetQuestion, operation: str = "") -> QuestionText:
    """The question of a request body."""
    text = QuestionText(
        operation=operation,
        entity=body.entity,
        targets=body.targets,
        lists=body.lists,
        attributes=body.attributes,
        subresources=body.subresources,
    )
    if isinstance(body, PrincipalQuestion):
        return replace(text, principal=body.principal, groups=body.groups, roles=body.roles)
    return text


def _authorized(exchange: Exchange, text: QuestionText) -> questions.AuthorizedQuestion | Denied:
    realm = exchange.params["realm"]
    return questions.ask(exchange.state, exchange.actor, realm, text, exchange.now)


def check(exchange: Exchange, body: Question) -> HandlerResult:
    """Checks an operation or a privilege."""
    question = _authorized(exchange, question_text(body, body.operation))
    if isinstance(question, Denied):
        return question
    decision = questions.check(question)
    return Answer(
        allow=decision.allow,
        reason=decision.reason.value,
        revision=decision.revision,
        notes=list(question.notes),
    )


def batch(exchange: Exchange, body: Questions) -> HandlerResult:
    """Checks a batch of questions, in order."""
    rows = [question_text(row, row.operation) for row in body.questions]
    realm, limit = exchange.params["realm"], exchange.services.batch_rows
    decisions = questions.batch(exchange.state, exchange.actor, realm, rows, exchange.now, limit)
    if isinstance(decisions, Denied):
        return decisions
    revision = exchange.state.realm(realm).matrix.revision
    return Batch(answers=[_row(decision) for decision in decisions], revision=revision)


def _row(decision: Decision | WardenError) -> BatchRow:
    if isinstance(decision, WardenError):
        return BatchRow(allow=False, reason="error", error=str(decision))
    return BatchRow(allow=decision.allow, reason=decision.reason.value)


def listing(exchange: Exchange, body: ListQuestion) -> HandlerResult:
    """Lists the entities on which an operation is allowed."""
    text = question_text(body, body.operation)
    authorized = _authorized(exchange, text)
    if isinstance(authorized, Denied):
        return authorized
    question = (exchange.path, text, body.within)
    place = place_of(body.page.token, str, *question)
    skip = body.page.skip if place is None else 0
    page = questions.listing(authorized, body.page.limit, place or body.after, body.within, skip)
    last = None if page.after is None else entity_text(page.after)
    return Listing(
        total=page.total,
        entities=[EntityName(type=entity.type, name=entity.name) for entity in page.entities],
        after=last,
        notes=list(authorized.notes),
        page=token_after(last, *question),
    )


def who(exchange: Exchange, body: WhoQuestion) -> HandlerResult:
    """The users who may do an operation on an entity."""
    text = question_text(body, body.operation)
    realm = exchange.params["realm"]
    question = questions.who(exchange.state, exchange.actor, realm, text, exchange.now)
    if isinstance(question, Denied):
        return question
    answer = _users_page(exchange, text, questions.users(question), body.page)
    answer.notes = list(question.notes)
    if body.reasons:
        refused = control.denied_in(
            exchange.state, exchange.actor, "explain.ask", realm, exchange.now
        )
        if refused is not None:
            return refused
        answer.reasons = [_reason(reason) for reason in who_reasons(question)]
    return answer


def _users_page(
    exchange: Exchange, text: QuestionText, users: Sequence[Principal], page: PageRequest
) -> Users:
    names = [user.name for user in users]
    on_page, after = cut(
        names,
        lambda name: name,
        page.token,
        page.limit,
        *(exchange.path, text),
        skip=page.skip,
    )
    return Users(total=len(names), users=list(on_page), notes=[], page=after)


def unmasked(exchange: Exchange, body: UnmaskedQuestion) -> HandlerResult:
    """The users who see the values of a column."""
    text, realm = QuestionText(entity=body.entity), exchange.params["realm"]
    question = questions.who(exchange.state, exchange.actor, realm, text, exchange.now)
    if isinstance(question, Denied):
        return question
    users = unmasked_users(question.realm.matrix, question.request)
    # Columns need not be stored, so there is no note about one that is not.
    return _users_page(exchange, text, users, body.page)


def _reason(reason: WhoReason) -> WhoReasonResponse:
    return WhoReasonResponse(
        through=[principal_text(principal) for principal in reason.through],
        statements=list(reason.statements),
        users=[user.name for user in reason.users[:_SAMPLE]],
        total=len(reason.users),
    )


def privileges(exchange: Exchange, body: PrincipalQuestion) -> HandlerResult:
    """The privileges and operations of a principal on an entity."""
    question = _authorized(exchange, question_text(body))
    if isinstance(question, Denied):
        return question
    privileges_held = questions.held_privileges(question)
    return HeldPrivileges(
        privileges=list(privileges_held.privileges),
        operations=list(privileges_held.operations),
        notes=list(question.notes),
    )


def see(exchange: Exchange, body: SightQuestion) -> HandlerResult:
    """What a principal sees of a table: its rows, and the values of its columns."""
    question = questions.ask(
        exchange.state,
        exchange.actor,
        exchange.params["realm"],
        question_text(body),
        exchange.now,
        own="explain.ask_own",
        other="explain.ask",
    )
    if isinstance(question, Denied):
        return question
    seen = effective_read(question.realm.matrix, question.request)
    if not (seen.may_read or question.sees_all):
        # Nothing about a table that the caller may not see.
        seen = replace(seen, filters=(), columns=(), stored=0, denied=())
    reads = control.is_allowed(
        exchange.state,
        exchange.actor,
        *control.scoped("statement.list", exchange.params["realm"]),
        exchange.now,
    )
    sentences = Sentences(question.realm)
    return SightResponse(
        may_read=seen.may_read,
        operation=seen.operation,
        filters=[
            BindingFilter(
                id=one.id,
                expression=one.expression,
                words=sentence_parts(sentences.statement(one)) if reads else [],
            )
            for one in seen.filters
        ],
        columns=[
            MaskedColumn(
                column=entity_text(one.column),
                mask=one.counting.id,
                expression=one.counting.expression,
                masks=[mask.id for mask in one.masks],
            )
            for one in seen.columns
        ],
        stored=seen.stored,
        notes=[*question.notes, *denied_notes(seen)],
        rendered=_rendered(question, body) if body.engine else None,
    )


def _rendered(question: questions.AuthorizedQuestion, body: SightQuestion) -> RenderedRead:
    # Imported here because the SQL library is slow to load, and few questions need it.
    from lakewarden.service.limited_read import engine_read

    check_engine(body.engine, "engine")
    realm = question.realm
    read = engine_read(realm, question.request, body.engine, body.columns)
    return RenderedRead(
        may_read=read.may_read,
        missing=list(read.missing) if question.sees_all else [],
        filters=list(read.filters),
        masks=dict(read.masks or {}),
    )


def access(exchange: Exchange, body: AccessQuestion) -> HandlerResult:
    """The access review of an entity."""
    realm = exchange.params["realm"]
    operations_of_entity = questions.access(
        exchange.state, exchange.actor, realm, body.entity, exchange.now
    )
    if isinstance(operations_of_entity, Denied):
        return operations_of_entity
    rows = [
        OperationAccess(operation=operation.operation, users=list(operation.users))
        for operation in operations_of_entity
    ]
    return AccessReview(entity=body.entity, access=rows)


def explain(exchange: Exchange, body: Question) -> HandlerResult:
    """Explains a decision."""
    question = questions.ask(
        exchange.state,
        exchange.actor,
        exchange.params["realm"],
        question_text(body, body.operation),
        exchange.now,
        own="explain.ask_own",
        other="explain.ask",
    )
    if isinstance(question, Denied):
        return question
    return explanation_response(
        questions.reasons(exchange.state, exchange.actor, question), question.notes
    )


def explanation_response(reasons: Reasons, notes: Sequence[str]) -> ExplanationResponse:
    """The response body of an explanation."""
    explanation = reasons.explanation
    return ExplanationResponse(
        allow=explanation.decision.allow,
        reason=explanation.decision.reason.value,
        revision=explanation.decision.revision,
        rule=None if explanation.rule is None else _step(explanation.rule),
        statements=list(explanation.statements),
        ways=[_way(way, reasons) for way in explanation.ways],
        notes=[*notes, *reasons.notes],
        named=[statement_response(statement) for statement in reasons.statements],
        reaching=[
            StatementPath(statement=id, over=[principal_text(principal) for principal in chain])
            for id, chain in sorted(reasons.reaching.items())
        ],
        summary=sentence_parts(reasons.summary),
        limits=None if reasons.limits is None else _limits(reasons.limits),
    )


def _limits(limits: ReadLimits) -> BindingLimits:
    return BindingLimits(
        filters=[one.id for one in limits.filters], masks=[one.id for one in limits.masks]
    )


def _step(step: Step) -> RuleStep:
    return RuleStep(
        says=step.says,
        holds=step.holds,
        entity=None if step.entity is None else str(step.entity),
        allowed_by=list(step.allowed_by),
        denied_by=list(step.denied_by),
        steps=[_step(inner) for inner in step.steps],
    )


def _way(way: Way, reasons: Reasons) -> AdviceResponse:
    return AdviceResponse(
        allow=[
            MissingGrant(
                privilege=need.privilege,
                on=str(need.entity) if need.entity.type else None,
                can_be_granted_by=_names(names),
            )
            for need, names in zip(way.needs, way.grantors, strict=True)
        ],
        lift=[
            BlockingDenial(statement=id, can_be_lifted_by=_names(reasons.lifters.get(id)))
            for id in way.lifted
        ],
        leave=[
            BlockingMembership(member=principal_text(member), of=principal_text(of))
            for id in way.lifted
            for member, of in leaving(reasons, id)
        ],
        join=[principal_text(principal) for principal in way.joins],
        opens=list(way.opens),
        others=way.others,
    )


def leaving(reasons: Reasons, id: str) -> list[tuple[Principal, Principal]]:
    """The last membership on the path by which a statement applies to the principal."""
    chain = (reasons.asker, *reasons.reaching.get(id, ()))
    return [] if len(chain) < 2 else [(chain[-2], chain[-1])]


def _names(principals: tuple[Principal, ...] | None) -> list[str] | None:
    return None if principals is None else [principal.name for principal in principals]


def operations(exchange: Exchange) -> HandlerResult:
    """The vocabulary of a realm's model."""
    name = exchange.params["realm"]
    refused = control.denied(
        exchange.state, exchange.actor, "operation.list", control.realm(name), exchange.now
    )
    if refused is not None:
        return refused
    model = exchange.state.realm(name).system.model
    return Vocabulary(
        model=model.name,
        title=model.title,
        limits=[effect.value for effect in OBLIGING if model.supports(effect)],
        settings=[
            ModelSettingResponse(
                name=operation.name,
                title=operation.title,
                values=list(operation.values),
                default=operation.default,
                weakens=dict(operation.weakens),
            )
            for operation in model.declared_settings.values()
        ],
        operations=[
            OperationResponse(
                name=field.name,
                title=field.title,
                kind=vocabulary.kind(model, field),
                ways=vocabulary.ways(model, field),
                types=sorted(field.rules),
                group=vocabulary.group(field),
                rules=dict(field.texts),
                targets={key: sorted(types) for key, types in field.targets.items()},
                lists={key: sorted(types) for key, types in field.lists.items()},
            )
            for field in model.operations.values()
        ],
        privileges=[
            PrivilegeResponse(
                name=privilege.name,
                title=privilege.title,
                display=vocabulary.display(privilege),
                group=vocabulary.privilege_group(privilege),
                grantable=privilege.grantable,
                on=sorted(privilege.on),
            )
            for privilege in model.privileges.values()
        ],
        fields=[
            FieldResponse(
                name=attribute.name,
                values=vocabulary.values(attribute),
                types=vocabulary.value_types(model, attribute),
                below=bool(attribute.up),
                grants=attribute.grants,
            )
            for attribute in model.fields.values()
        ],
    )


_REALM = "/realms/{realm}"

ENDPOINTS = (
    Endpoint(
        "GET",
        _REALM + "/operations",
        "operation.list",
        operations,
        "list operations and privileges",
        response=Vocabulary,
    ),
    Endpoint(
        "POST",
        _REALM + "/check",
        "decision.ask_own",
        check,
        "decide one request",
        request=Question,
        response=Answer,
    ),
    Endpoint(
        "POST",
        _REALM + "/batch",
        "decision.ask_own",
        batch,
        "decide several requests",
        request=Questions,
        response=Batch,
        body_limit=_BATCH_BYTES,
    ),
    Endpoint(
        "POST",
        _REALM + "/list",
        "decision.ask_own",
        listing,
        "list the entities on which a user may perform an operation",
        request=ListQuestion,
        response=Listing,
    ),
    Endpoint(
        "POST",
        _REALM + "/who",
        "subject.search",
        who,
        "list the users who may perform an operation",
        request=WhoQuestion,
        response=Users,
    ),
    Endpoint(
        "POST",
        _REALM + "/privileges",
        "decision.ask_own",
        privileges,
        "list the privileges and operations of a user on an entity",
        request=PrincipalQuestion,
        response=HeldPrivileges,
    ),
    Endpoint(
        "POST",
        _REALM + "/see",
        "explain.ask_own",
        see,
        "list the row filters and column masks that bind a user on a table",
        request=SightQuestion,
        response=SightResponse,
    ),
    Endpoint(
        "POST",
        _REALM + "/unmasked",
        "subject.search",
        unmasked,
        "list the users who see the values of a column",
        request=UnmaskedQuestion,
        response=Users,
    ),
    Endpoint(
        "POST",
        _REALM + "/access",
        "entity.access",
        access,
        "list the users of each operation on an entity",
        request=AccessQuestion,
        response=AccessReview,
    ),
    Endpoint(
        "POST",
        _REALM + "/explain",
        "explain.ask_own",
        explain,
        "explain a decision",
        request=Question,
        response=ExplanationResponse,
    ),
)
