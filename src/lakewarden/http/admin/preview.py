"""What a change would do, over the API: the same access as a plan's, and nothing is written."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict
from typing import Annotated, Any

import msgspec
from msgspec import UNSET, Meta, UnsetType, field

from lakewarden.analysis.lint.catalogue import RULES
from lakewarden.http.admin.bodies import (
    Membership,
    RequestBody,
    ResponseBody,
    SentencePart,
    StatementReachResponse,
    StatementRequest,
)
from lakewarden.http.admin.endpoint import Endpoint, HandlerResult
from lakewarden.http.admin.field_types import EntityText, PrincipalText
from lakewarden.http.admin.lint import FindingResponse, finding_response
from lakewarden.http.admin.loading import LIMIT
from lakewarden.http.admin.policy import AccessDifference, PolicyText, Written, read_text
from lakewarden.http.admin.sentences import sentence_parts
from lakewarden.http.admin.statements import statement_table
from lakewarden.http.exchange import Exchange
from lakewarden.kernel.errors import BadInput
from lakewarden.kernel.matrix import Matrix
from lakewarden.kernel.principal import Principal
from lakewarden.kernel.relations import MembershipRow, OwnerRow
from lakewarden.kernel.statement import Statement
from lakewarden.kernel.statement_file import read_statements, write_statement
from lakewarden.registry import registry
from lakewarden.service import lint, policy
from lakewarden.service.control import Denied
from lakewarden.service.entities import parse_entity
from lakewarden.service.plan_access import access_table
from lakewarden.service.plan_result import Edit
from lakewarden.service.preview import Draft, Preview, check_unchanged, matrix_with_draft, preview
from lakewarden.service.sentence import Sentences
from lakewarden.service.state import RealmState
from lakewarden.service.statement_reach import Audience
from lakewarden.service.statements import MAX_ID


class StatementDraft(StatementRequest, kw_only=True, forbid_unknown_fields=True):
    """A statement as it would be stored. Its mark does not matter."""

    id: Annotated[str, Meta(min_length=1, max_length=MAX_ID)]


class MembersDraft(RequestBody, kw_only=True):
    """Memberships that would come and go."""

    add: list[Membership] = field(default_factory=list)
    remove: list[Membership] = field(default_factory=list)


class OwnerDraft(RequestBody, kw_only=True):
    """One owner of one entity."""

    entity: EntityText
    principal: PrincipalText
    ownership: str = ""


class OwnersDraft(RequestBody, kw_only=True):
    """Owners that would come and go."""

    set: list[OwnerDraft] = field(default_factory=list)
    unset: list[OwnerDraft] = field(default_factory=list)


class PolicyDraft(RequestBody, kw_only=True):
    """A policy as its own system writes it, and the name that it has there."""

    name: Annotated[str, Meta(min_length=1, max_length=MAX_ID)]
    value: dict[str, Any]


class PoliciesDraft(RequestBody, kw_only=True):
    """Policies of the realm's own system that would be stored, and removed by name."""

    put: list[PolicyDraft] = field(default_factory=list)
    remove: list[str] = field(default_factory=list)


class PreviewRequest(RequestBody, kw_only=True):
    """What is to be tried: any of these, together. `text` is a policy file."""

    put: list[StatementDraft] = field(default_factory=list)
    remove: list[str] = field(default_factory=list)
    members: MembersDraft | UnsetType = UNSET
    owners: OwnersDraft | UnsetType = UNSET
    principals_removed: list[PrincipalText] = field(default_factory=list)
    policies: PoliciesDraft | UnsetType = UNSET
    text: PolicyText | UnsetType = UNSET
    at_revision: Annotated[int, Meta(ge=0)] | None = None


class DraftFindings(ResponseBody, kw_only=True):
    """What was found in a draft, the worst first."""

    findings: list[FindingResponse]


class PreviewEdit(ResponseBody, kw_only=True):
    """A statement before and after, as files write it, as a sentence, and how far it reaches."""

    id: str
    was: Written | None
    now: Written | None
    words_was: list[SentencePart]
    words_now: list[SentencePart]
    reach_was: StatementReachResponse
    reach_now: StatementReachResponse


class UsageImpact(ResponseBody, kw_only=True):
    """Acts of the last `days` that would be refused then, and whose they were."""

    acts: int
    people: list[str]
    days: int
    whole: bool


class PreviewResponse(ResponseBody, kw_only=True):
    """What would change at this revision. `refused`: why a write of it would not be taken."""

    revision: int
    changes: list[PreviewEdit]
    access: AccessDifference
    used: UsageImpact
    lint_new: list[FindingResponse]
    lint_gone: list[FindingResponse]
    refused: list[str]


def preview_draft(exchange: Exchange, body: PreviewRequest) -> HandlerResult:
    """What a draft would change."""
    realm = exchange.params["realm"]
    result = preview(
        exchange.service,
        exchange.actor,
        realm,
        lambda found: read_draft(found, body),
        at_revision=body.at_revision,
    )
    return (
        result
        if isinstance(result, Denied)
        else _response(exchange.service.state.realm(realm), result)
    )


def lint_draft(exchange: Exchange, body: PreviewRequest) -> HandlerResult:
    """What the policy advisor would find."""
    name, rules = exchange.params["realm"], tuple(RULES.values())
    findings = lint.linted(
        exchange.state,
        exchange.actor,
        name,
        exchange.now,
        rules,
        draft_matrix(exchange, body),
    )
    if isinstance(findings, Denied):
        return findings
    unchangeable = policy.immutable_ids(exchange.state.realm(name).system)
    return DraftFindings(findings=[finding_response(one, unchangeable) for one in findings])


def draft_matrix(exchange: Exchange, body: PreviewRequest) -> Callable[[RealmState], Matrix]:
    """Makes the matrix of a realm with the draft in it; raises what `preview` raises."""

    def make(found: RealmState) -> Matrix:
        with exchange.service.reading() as reading:
            check_unchanged(reading, found, body.at_revision)
        return matrix_with_draft(found, read_draft(found, body), exchange.now)

    return make


def read_draft(found: RealmState, body: PreviewRequest) -> Draft:
    """What the body says is to be tried. Raises `BadInput` naming the place."""
    members = MembersDraft() if body.members is UNSET else body.members
    owners = OwnersDraft() if body.owners is UNSET else body.owners
    policies = PoliciesDraft() if body.policies is UNSET else body.policies
    put = [*_statements(found, body.put), *_policies(found, policies.put)]
    joined = _members(found, members.add)
    if body.text is not UNSET:
        name, table = read_text(body.text)
        new_policy = policy.read([(name, table)], found)
        put += new_policy.statements.values()
        joined += sorted(new_policy.members)
    _check_once([one.id for one in put])
    return Draft(
        put=put,
        removed=[*body.remove, *policies.remove],
        joined=joined,
        left=_members(found, members.remove),
        owned=_owners(found, owners.set),
        disowned=_owners(found, owners.unset),
        gone=[_principal(found, one) for one in body.principals_removed],
    )


def _check_once(ids: Sequence[str]) -> None:
    for id, times in Counter(ids).items():
        if times > 1:
            raise BadInput(f"`{id}` occurs more than once", where="body.put")


def _statements(realm_state: RealmState, drafts: Sequence[StatementDraft]) -> list[Statement]:
    statements: list[Statement] = []
    for place, one in enumerate(drafts):
        table = {"id": one.id, **statement_table(one)}
        statements += _read(realm_state, table, f"body.put[{place}]")
    return statements


def _read(realm_state: RealmState, table: dict[str, Any], where: str) -> list[Statement]:
    return list(
        read_statements([table], realm_state.system.model, realm_state.system.spelling, where)
    )


def _policies(realm_state: RealmState, drafts: Sequence[PolicyDraft]) -> Iterator[Statement]:
    """The statements that policies of the realm's own system state."""
    shipping = registry().shipping(realm_state.system.model.name)
    for place, one in enumerate(drafts):
        where = f"body.policies.put[{place}]"
        if shipping is None or not shipping.policies:
            raise BadInput("realms of this system have statements only", where=where)
        stated = shipping.load(shipping.policies)
        yield from _read(
            realm_state, stated(one.name, one.value, realm_state.system.model, where), where
        )


def _members(realm_state: RealmState, rows: Iterable[Membership]) -> list[MembershipRow]:
    return [
        MembershipRow(_principal(realm_state, r.member), _principal(realm_state, r.of))
        for r in rows
    ]


def _principal(realm_state: RealmState, text: str) -> Principal:
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
    sentences, unchangeable = Sentences(realm_state), policy.immutable_ids(realm_state.system)
    return PreviewResponse(
        revision=result.revision,
        changes=[_edit(edit, sentences, result.reach[edit.id]) for edit in result.edits],
        access=msgspec.convert(access_table(result.access), AccessDifference),
        used=UsageImpact(
            acts=result.used.acts,
            people=list(result.used.people),
            days=result.used.days,
            whole=result.used.is_whole,
        ),
        lint_new=[finding_response(one, unchangeable) for one in result.new_findings],
        lint_gone=[finding_response(one, unchangeable) for one in result.gone_findings],
        refused=list(result.refused),
    )


def _edit(edit: Edit, sentences: Sentences, reach: tuple[Audience, Audience]) -> PreviewEdit:
    was, now = edit.was, edit.now
    reach_was, reach_now = (StatementReachResponse(**asdict(one)) for one in reach)
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
