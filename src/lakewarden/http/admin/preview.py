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
from lakewarden.http.admin.lint import FindingResponse, finding_response
from lakewarden.http.admin.loading import LIMIT
from lakewarden.http.admin.policy import AccessDifference, PolicyText, Written, read_text
from lakewarden.http.admin.sentences import sentence_parts
from lakewarden.http.admin.statements import statement_table
from lakewarden.http.admin.words import EntityText, PrincipalText
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
    made = preview(
        exchange.service,
        exchange.actor,
        realm,
        lambda found: read_draft(found, body),
        at_revision=body.at_revision,
    )
    return (
        made if isinstance(made, Denied) else _response(exchange.service.state.realm(realm), made)
    )


def lint_draft(exchange: Exchange, body: PreviewRequest) -> HandlerResult:
    """What the policy advisor would find."""
    name, rules = exchange.params["realm"], tuple(RULES.values())
    found = lint.linted(
        exchange.state,
        exchange.actor,
        name,
        exchange.now,
        rules,
        draft_matrix(exchange, body),
    )
    if isinstance(found, Denied):
        return found
    unchangeable = policy.immutable_ids(exchange.state.realm(name).system)
    return DraftFindings(findings=[finding_response(one, unchangeable) for one in found])


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
        wanted = policy.read([(name, table)], found)
        put += wanted.statements.values()
        joined += sorted(wanted.members)
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


def _statements(found: RealmState, drafts: Sequence[StatementDraft]) -> list[Statement]:
    made: list[Statement] = []
    for place, one in enumerate(drafts):
        table = {"id": one.id, **statement_table(one)}
        made += _read(found, table, f"body.put[{place}]")
    return made


def _read(found: RealmState, table: dict[str, Any], where: str) -> list[Statement]:
    return list(read_statements([table], found.system.model, found.system.spelling, where))


def _policies(found: RealmState, drafts: Sequence[PolicyDraft]) -> Iterator[Statement]:
    """The statements that policies of the realm's own system state."""
    shipping = registry().shipping(found.system.model.name)
    for place, one in enumerate(drafts):
        where = f"body.policies.put[{place}]"
        if shipping is None or not shipping.policies:
            raise BadInput("realms of this system have statements only", where=where)
        stated = shipping.load(shipping.policies)
        yield from _read(found, stated(one.name, one.value, found.system.model, where), where)


def _members(found: RealmState, rows: Iterable[Membership]) -> list[MembershipRow]:
    return [MembershipRow(_principal(found, r.member), _principal(found, r.of)) for r in rows]


def _principal(found: RealmState, text: str) -> Principal:
    return found.system.principal(text)


def _owners(found: RealmState, rows: Iterable[OwnerDraft]) -> list[OwnerRow]:
    return [
        OwnerRow(parse_entity(found, row.entity), _principal(found, row.principal), row.ownership)
        for row in rows
    ]


def _response(found: RealmState, made: Preview) -> PreviewResponse:
    sentences, unchangeable = Sentences(found), policy.immutable_ids(found.system)
    return PreviewResponse(
        revision=made.revision,
        changes=[_edit(edit, sentences, made.reach[edit.id]) for edit in made.edits],
        access=msgspec.convert(access_table(made.access), AccessDifference),
        used=UsageImpact(
            acts=made.used.acts,
            people=list(made.used.people),
            days=made.used.days,
            whole=made.used.is_whole,
        ),
        lint_new=[finding_response(one, unchangeable) for one in made.new_findings],
        lint_gone=[finding_response(one, unchangeable) for one in made.gone_findings],
        refused=list(made.refused),
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
