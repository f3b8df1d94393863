"""The effects of a change, over the API: the same access as in a plan; nothing is written."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict
from typing import Any, Final

import msgspec
from msgspec import UNSET

from lakewarden.analysis.limit_reach import LimitChange
from lakewarden.analysis.lint.catalogue import RULES
from lakewarden.expressions.lookup import LookupTable, types_of
from lakewarden.http.admin.bodies.people import Membership
from lakewarden.http.admin.bodies.policy import AccessDifference
from lakewarden.http.admin.bodies.preview import (
    DraftFindings,
    LimitChangeResponse,
    MembersDraft,
    ObligationDraft,
    OwnerDraft,
    OwnersDraft,
    PoliciesDraft,
    PolicyDraft,
    PreviewEdit,
    PreviewRequest,
    PreviewResponse,
    StatementDraft,
    UsageImpact,
)
from lakewarden.http.admin.bodies.statement import (
    StatementReachResponse,
)
from lakewarden.http.admin.endpoint import Endpoint, HandlerResult
from lakewarden.http.admin.lint import finding_response
from lakewarden.http.admin.loading import LIMIT
from lakewarden.http.admin.policy import read_text
from lakewarden.http.admin.sentences import sentence_parts
from lakewarden.http.admin.statements import statement_table
from lakewarden.http.exchange import Exchange
from lakewarden.kernel.errors import BadInput
from lakewarden.kernel.matrix import Matrix
from lakewarden.kernel.principal import Principal
from lakewarden.kernel.relations import MembershipRow, OwnerRow
from lakewarden.kernel.statement import Effect, Statement
from lakewarden.kernel.statement_file import principal_text, read_statement, write_statement
from lakewarden.names.canonical import check_text
from lakewarden.registry import registry
from lakewarden.service import lint, policy
from lakewarden.service.control import Denied
from lakewarden.service.entities import parse_entity
from lakewarden.service.lint import lint_context
from lakewarden.service.obligation_check import check_in_realm, check_obligation
from lakewarden.service.plan_access import access_table
from lakewarden.service.plan_result import Edit
from lakewarden.service.ports import Reading
from lakewarden.service.preview import Draft, Preview, check_unchanged, matrix_with_draft, preview
from lakewarden.service.sentence import Sentences
from lakewarden.service.state import RealmState
from lakewarden.service.statement_reach import Audience

_SHOWN: Final = 5
"""How many users of a change are named."""


def preview_draft(exchange: Exchange, body: PreviewRequest) -> HandlerResult:
    """The effect of a draft."""
    realm = exchange.params["realm"]
    result = preview(
        exchange.service,
        exchange.actor,
        realm,
        lambda realm_state: _drafted(exchange, realm_state, body),
        at_revision=body.at_revision,
    )
    return (
        result
        if isinstance(result, Denied)
        else _response(exchange.service.state.realm(realm), result)
    )


def lint_draft(exchange: Exchange, body: PreviewRequest) -> HandlerResult:
    """The findings in a draft."""
    name, rules = exchange.params["realm"], tuple(RULES.values())
    findings = lint.linted(
        exchange.state,
        exchange.actor,
        name,
        exchange.now,
        rules,
        lambda realm_state: lint_context(realm_state, *_tried(exchange, realm_state, body)),
    )
    if isinstance(findings, Denied):
        return findings
    unchangeable = exchange.state.realm(name).system.model.immutable_ids
    return DraftFindings(findings=[finding_response(finding, unchangeable) for finding in findings])


def draft_matrix(exchange: Exchange, body: PreviewRequest) -> Callable[[RealmState], Matrix]:
    """Returns a function for the matrix of a realm with the draft; raises what `preview` raises."""
    return lambda realm_state: _tried(exchange, realm_state, body)[0]


def _tried(
    exchange: Exchange, realm_state: RealmState, body: PreviewRequest
) -> tuple[Matrix, Mapping[str, LookupTable]]:
    """The realm's matrix with the draft in it, and the lookup tables of the draft."""
    with exchange.service.reading() as reading:
        check_unchanged(reading, realm_state, body.at_revision)
    draft = _drafted(exchange, realm_state, body)
    return matrix_with_draft(realm_state, draft, exchange.now), draft.lookups


def _drafted(exchange: Exchange, realm_state: RealmState, body: PreviewRequest) -> Draft:
    with exchange.service.reading() as reading:
        return read_draft(realm_state, body, reading)


def read_draft(
    realm_state: RealmState, body: PreviewRequest, reading: Reading | None = None
) -> Draft:
    """The draft of a body; filters and masks are checked against the data of `reading`.

    Raises `BadInput` with the path of the wrong field.
    """
    members = MembersDraft() if body.members is UNSET else body.members
    owners = OwnersDraft() if body.owners is UNSET else body.owners
    policies = PoliciesDraft() if body.policies is UNSET else body.policies
    put = [*_statements(realm_state, body.put), *_policies(realm_state, policies.put)]
    for effect, drafts in ((Effect.FILTER, body.filters), (Effect.MASK, body.masks)):
        put += _obligations(realm_state, effect, drafts, reading)
    joined = _members(realm_state, members.add)
    lookups: Mapping[str, LookupTable] = {}
    if body.text is not UNSET:
        name, table = read_text(body.text)
        new_policy = policy.read([(name, table)], realm_state, reading)
        put += new_policy.statements.values()
        joined += sorted(new_policy.members)
        lookups = new_policy.lookups
    _check_once([statement.id for statement in put])
    return Draft(
        put=put,
        removed=[*body.remove, *policies.remove],
        joined=joined,
        left=_members(realm_state, members.remove),
        owned=_owners(realm_state, owners.set),
        disowned=_owners(realm_state, owners.unset),
        gone=[_principal(realm_state, name) for name in body.principals_removed],
        lookups=lookups,
    )


def _check_once(ids: Sequence[str]) -> None:
    for id, times in Counter(ids).items():
        if times > 1:
            raise BadInput(f"`{id}` occurs more than once", where="body.put")


def _statements(realm_state: RealmState, drafts: Sequence[StatementDraft]) -> list[Statement]:
    statements: list[Statement] = []
    for place, draft in enumerate(drafts):
        table = {"id": draft.id, **statement_table(draft)}
        statements.append(_read(realm_state, table, f"body.put[{place}]"))
    return statements


def _obligations(
    realm_state: RealmState,
    effect: Effect,
    drafts: Sequence[ObligationDraft],
    reading: Reading | None,
) -> Iterator[Statement]:
    """The filters or masks, checked as when they are stored."""
    lookups = types_of(realm_state.realm.lookups)
    for place, draft in enumerate(drafts):
        where = f"body.{effect.value}s[{place}]"
        table = {"id": draft.id, **statement_table(draft), "effect": effect.value}
        statement = _read(realm_state, table, where)
        check_obligation(statement, where)
        check_in_realm(statement, realm_state, lookups, where, reading)
        yield statement


def _read(realm_state: RealmState, table: dict[str, Any], where: str) -> Statement:
    return read_statement(table, realm_state.system.model, realm_state.system.spelling, where)


def _policies(realm_state: RealmState, drafts: Sequence[PolicyDraft]) -> Iterator[Statement]:
    """The statements of policies in the format of the realm's system."""
    shipping = registry().shipper_of(realm_state.system.model.name)
    for place, draft in enumerate(drafts):
        where = f"body.policies.put[{place}]"
        if shipping is None or not shipping.policies:
            raise BadInput("realms of this system have statements only", where=where)
        stated = shipping.load(shipping.policies)
        yield _read(
            realm_state, stated(draft.name, draft.value, realm_state.system.model, where), where
        )


def _members(realm_state: RealmState, rows: Iterable[Membership]) -> list[MembershipRow]:
    return [
        MembershipRow(_principal(realm_state, r.member), _principal(realm_state, r.of))
        for r in rows
    ]


def _principal(realm_state: RealmState, text: str) -> Principal:
    check_text(text, "the principal")
    return realm_state.system.principal(text)


def _owners(realm_state: RealmState, rows: Iterable[OwnerDraft]) -> list[OwnerRow]:
    return [
        OwnerRow(
            parse_entity(realm_state, row.entity),
            _principal(realm_state, row.principal),
            row.ownership,
        )
        for row in rows
    ]


def _response(realm_state: RealmState, result: Preview) -> PreviewResponse:
    sentences, unchangeable = Sentences(realm_state), realm_state.system.model.immutable_ids
    return PreviewResponse(
        revision=result.revision,
        changes=[_edit(edit, sentences, result.reach[edit.id]) for edit in result.edits],
        access=msgspec.convert(access_table(result.access), AccessDifference),
        limits=[_limit(change) for change in result.limits],
        used=UsageImpact(
            acts=result.used.acts,
            people=list(result.used.people),
            days=result.used.days,
            whole=result.used.is_whole,
        ),
        lint_new=[finding_response(finding, unchangeable) for finding in result.new_findings],
        lint_gone=[finding_response(finding, unchangeable) for finding in result.gone_findings],
        refused=list(result.refused),
    )


def _limit(change: LimitChange) -> LimitChangeResponse:
    return LimitChangeResponse(
        id=change.statement.id,
        effect="filter" if change.statement.effect is Effect.FILTER else "mask",
        change=change.way,
        users=len(change.users),
        people=[principal_text(user) for user in change.users[:_SHOWN]],
        entities=change.entities,
        sample=str(change.sample),
        owners=change.owners,
    )


def _edit(edit: Edit, sentences: Sentences, reach: tuple[Audience, Audience]) -> PreviewEdit:
    was, now = edit.was, edit.now
    reach_was, reach_now = (StatementReachResponse(**asdict(side)) for side in reach)
    return PreviewEdit(
        id=edit.id,
        was=None if was is None else write_statement(was),
        now=None if now is None else write_statement(now),
        words_was=[] if was is None else sentence_parts(sentences.statement(was)),
        words_now=[] if now is None else sentence_parts(sentences.statement(now)),
        reach_was=reach_was,
        reach_now=reach_now,
    )


ENDPOINTS = (
    Endpoint(
        "POST",
        "/realms/{realm}/preview",
        "realm.plan",
        preview_draft,
        "preview the effect of a change",
        request=PreviewRequest,
        response=PreviewResponse,
        body_limit=LIMIT,
    ),
    Endpoint(
        "POST",
        "/realms/{realm}/lint",
        "realm.lint",
        lint_draft,
        "list the lint findings after a change",
        request=PreviewRequest,
        response=DraftFindings,
        body_limit=LIMIT,
    ),
)
