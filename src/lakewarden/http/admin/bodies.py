"""The bodies of our own API: what a client sends and what it gets, as types.

Reading refuses members that are not declared; `openapi.json` is written from these types.
Entities are written `type:name` or as a URN, principals `kind:name`, moments as RFC 3339.
"""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any, Literal

from msgspec import UNSET, Meta, Struct, UnsetType, field

from lakewarden.http.admin.field_types import (
    PERSON,
    READABLE,
    DirectoryName,
    EntityText,
    ModelFile,
    ModelName,
    Moment,
    PrincipalText,
    RealmName,
    Scalar,
    Word,
    described,
)
from lakewarden.kernel.statement import MAX_CRITERIA
from lakewarden.service.password import LONGEST as LONGEST_PASSWORD
from lakewarden.service.password import SHORTEST
from lakewarden.service.plan import MAX_KEEPER
from lakewarden.service.token import LONGEST, MAX_TITLE


class RequestBody(Struct, forbid_unknown_fields=True):
    """What a client sends; some of it comes back in the same form."""


class ResponseBody(Struct):
    """What a client gets."""


class PageRequest(RequestBody, kw_only=True):
    """Which part of a list is wanted; without a token, `skip` says how many come before it."""

    token: str = ""
    skip: Annotated[int, Meta(ge=0)] = 0
    limit: Annotated[int, described(minimum=1, maximum=1_000)] = 100


class NextPage(ResponseBody, kw_only=True):
    """Where the list goes on; an empty token: it does not."""

    next_token: str = ""


class PagedResponse(ResponseBody, kw_only=True):
    """Part of a list: how many there are in all, and where it goes on."""

    total: int
    page: NextPage


class Problem(ResponseBody, kw_only=True, omit_defaults=True):
    """Why there is no answer (RFC 9457); members from `errors` on are there where they apply."""

    type: str
    title: str
    status: int
    detail: str
    request_id: str = ""
    errors: list[FieldError] = field(default_factory=list)
    operation: str = ""
    object: str = ""
    missing: MissingPrivilege | None = None
    may_grant: list[str] = field(default_factory=list)
    allow: list[str] = field(default_factory=list)


class FieldError(ResponseBody, kw_only=True):
    """What is wrong at which place of the request."""

    path: str
    message: str


class MissingPrivilege(ResponseBody, kw_only=True):
    """The privilege that is missing, and the object on which it could be granted."""

    privilege: str
    object: str


# Who is calling


class Caller(ResponseBody, kw_only=True):
    """Who the server takes the caller for."""

    user: str
    directory: str
    realm: str | None
    groups: list[str]
    credential: str
    administrator: bool


# Realms


class NewRealm(RequestBody, kw_only=True):
    """A realm to be created: of a shipped model, or of the text of one of one's own."""

    name: RealmName
    model: ModelName | UnsetType = UNSET
    model_text: ModelFile | UnsetType = UNSET
    directory: DirectoryName = "main"
    settings: dict[str, str] = field(default_factory=dict)
    spellings: dict[str, str] = field(default_factory=dict)


class RealmChange(RequestBody, kw_only=True):
    """What is to be different; what is left out stays."""

    settings: dict[str, str] | UnsetType = UNSET
    spellings: dict[str, str] | UnsetType = UNSET


class ModelUpgrade(RequestBody, kw_only=True):
    """Another edition of a realm's model; without `apply` nothing is changed.

    `drop`: what the edition does not know goes.
    """

    model_text: ModelFile
    apply: bool = False
    drop: bool = False


class UpgradeResponse(ResponseBody, kw_only=True):
    """What an upgrade changes, or has changed; `words` by `types`, `privileges`, `operations`.

    `pending`: the realm has another text than it would have. `was` and `now` are digests.
    `orphans` are the first of what is orphaned, `orphaned` counts all of it by kind.
    """

    realm: str
    revision: int
    was: str
    now: str
    pending: bool
    words: dict[str, dict[str, list[str]]]
    orphans: list[dict[str, str]]
    orphaned: dict[str, int]
    access: dict[str, Any]


class RealmResponse(ResponseBody, kw_only=True):
    """One realm. `settings` are all of its model, also those left as they come.

    `model_digest` is that of a model that is not shipped; its text is given with the realm alone.

    How much is in it, and how names are mapped, is told to whoever may see what is in it.
    """

    name: str
    model: str
    title: str
    directory: str
    settings: dict[str, str]
    model_digest: str | None = None
    model_text: str | None = None
    entities: int | None = None
    statements: int | None = None
    spellings: dict[str, str] | None = None


class Realms(ResponseBody, kw_only=True):
    """The realms that the caller may see."""

    realms: list[RealmResponse]


# People


class DirectoryResponse(ResponseBody, kw_only=True):
    """One directory, with how many people are in it and which realms know them."""

    name: str
    users: int
    groups: int
    realms: list[str]


class Directories(ResponseBody, kw_only=True):
    """The directories that the caller may see."""

    directories: list[DirectoryResponse]


class Principals(PagedResponse, kw_only=True):
    """Users, groups and roles, as `kind:name`, in order."""

    principals: list[str]


class PrincipalRequest(RequestBody, kw_only=True):
    """A user, group or role."""

    principal: PrincipalText


class Membership(RequestBody, kw_only=True):
    """`member` acts as `of` too."""

    member: PrincipalText
    of: PrincipalText


class DirectoryMembership(Membership, kw_only=True):
    """`member` acts as the group `of` too."""

    member: Annotated[str, described(pattern=f"^(user|group):{PERSON}")]
    of: Annotated[str, described(pattern=f"^group:{PERSON}")]


class Memberships(PagedResponse, kw_only=True):
    """Who belongs to what, in order."""

    memberships: list[Membership]


# Tokens


class SignIn(RequestBody, kw_only=True):
    """What one signs in with: nothing, where the header brings credentials.

    A password is that of a user of `realm` or of `directory`; where neither is named, of `main`.
    """

    user: str = ""
    password: str = ""
    token: str = ""
    realm: str = ""
    directory: DirectoryName | None = None


class PasswordRequest(RequestBody, kw_only=True):
    """A new password. It is hashed at once, and kept nowhere."""

    password: Annotated[str, described(minLength=SHORTEST, maxLength=LONGEST_PASSWORD)]


class SessionResponse(ResponseBody, kw_only=True):
    """Who is signed in, and what the pages need to speak for them.

    `csrf` is said in the header `Lakewarden-CSRF`; it is empty, and the ends are null, for who
    came with other credentials than a session.
    """

    user: str
    directory: str
    realm: str | None
    modes: list[str]
    csrf: str
    ends: datetime | None
    idle_ends: datetime | None
    administrator: bool


class SessionRow(ResponseBody, kw_only=True):
    """A session that goes on; `own`: the one of this request."""

    id: str
    user: str
    directory: str
    realm: str | None
    began: datetime
    ends: datetime
    idle_ends: datetime
    own: bool


class Sessions(ResponseBody, kw_only=True):
    """Sessions that go on, the oldest first."""

    sessions: list[SessionRow]


class NewToken(RequestBody, kw_only=True):
    """A token to be made, good for so many seconds. Without a user it is the caller's own.

    With `new` false the user has to be stored, in the directory or in one of its realms.
    """

    user: str | None = None
    directory: DirectoryName | None = None
    realm: str | None = None
    seconds: Annotated[float, described(exclusiveMinimum=0, maximum=LONGEST)] = 86_400.0
    title: Annotated[str, described(maxLength=MAX_TITLE, pattern=READABLE)] = ""
    new: bool = True


class TokenResponse(ResponseBody, kw_only=True):
    """A token, without its text."""

    id: str
    user: str
    directory: str
    realm: str | None
    title: str
    created: datetime
    expires: datetime


class TokenIssued(TokenResponse, kw_only=True):
    """A new token and its text, which is shown this once."""

    token: str


class Tokens(ResponseBody, kw_only=True):
    """Tokens that are good, the oldest first."""

    tokens: list[TokenResponse]


# Statements


class Criterion(RequestBody, kw_only=True):
    """A condition on a field of the resource."""

    field: str
    values: list[str]
    condition: Literal["EQUALS", "STARTS_WITH", "NOT_EQUALS"] = "EQUALS"


Criteria = Annotated[list[Criterion], described(maxItems=MAX_CRITERIA)]


class StatementParts(Struct, kw_only=True, omit_defaults=True):
    """Whom a statement allows or denies what on which entities.

    One of `on`, `matching` and `where` says on which; none: on anything.
    """

    privileges: list[Word]
    to: list[PrincipalText]
    effect: Literal["allow", "deny"] = "allow"
    title: str = ""
    on: EntityText | None = None
    matching: EntityText | None = None
    where: Criteria | None = None
    constraint: Criteria | None = None
    valid_from: Moment | None = None
    valid_until: Moment | None = None
    active: bool = True


class StatementRequest(StatementParts, RequestBody, kw_only=True, forbid_unknown_fields=True):
    """A statement to be stored.

    `mark` says who keeps it; it must be named to change a marked one.
    """

    privileges: Annotated[list[Word], described(minItems=1)]
    to: Annotated[list[PrincipalText], described(minItems=1)]
    mark: Annotated[str, Meta(max_length=MAX_KEEPER, pattern=READABLE)] = ""


class Reference(ResponseBody, kw_only=True):
    """What a word names: an entity, a principal, a privilege, an operation or a statement."""

    kind: str
    name: str
    realm: str


class SentencePart(ResponseBody, kw_only=True):
    """A part of a sentence."""

    text: str
    ref: Reference | None = None


class StatementResponse(StatementParts, ResponseBody, kw_only=True):
    """A stored statement."""

    id: str


class StatementReachResponse(ResponseBody, kw_only=True):
    """How many stored users a statement is about, and how many stored entities."""

    users: int
    entities: int


class LastChange(ResponseBody, kw_only=True):
    """When something was changed last, by whom, and at which revision."""

    at: datetime
    by: str
    revision: int


class StatementRow(StatementResponse, kw_only=True):
    """A stored statement, and what it says in a sentence.

    `mark` says who keeps it, empty for nobody. `reach` and `changed` are there where `fields`
    asks for them; `changed` is not where the change feed no longer knows. With `reaching`,
    `source` is the entity that the statement is on, `direct` tells whether that is the entity
    asked about, and `beaten_by` are DENYs that go before it there. `immutable_because` says why
    one that is not `editable` is not. A member that would say nothing (an empty list or text,
    `editable` true, `direct` false) is left out.
    """

    words: list[SentencePart]
    mark: str = ""
    editable: bool = True
    immutable_because: str = ""
    reach: StatementReachResponse | None = None
    changed: LastChange | None = None
    source: str | None = None
    direct: bool = False
    beaten_by: list[str] = field(default_factory=list)


class Statements(PagedResponse, kw_only=True):
    """The statements of a realm, by id."""

    statements: list[StatementRow]


# Entities


class EntityName(ResponseBody, kw_only=True):
    """An entity by type and name."""

    type: str
    name: str


class Owner(RequestBody, kw_only=True):
    """An owner, and the ownership type where the system has such."""

    principal: PrincipalText
    ownership: str = ""


class EntityRequest(RequestBody, kw_only=True):
    """An entity to be stored or moved; with `owners`, these and no others own it."""

    entity: EntityText
    parent: EntityText | None = None
    owners: list[Owner] | None = None


class EntityResponse(ResponseBody, kw_only=True):
    """A stored entity and what it carries."""

    entity: str
    type: str
    name: str
    parent: str | None
    owners: list[Owner]
    attributes: dict[str, list[str]]
    relations: dict[str, list[str]]


class Entities(PagedResponse, kw_only=True):
    """Entities in the order of their places; `total` counts the whole list."""

    entities: list[EntityName]


# Questions


class ChildResponse(ResponseBody, kw_only=True):
    """An entity in its container: what lies directly in it, and all that lies below it."""

    entity: str
    type: str
    label: str
    children: int
    below: int


class ChildrenResponse(PagedResponse, kw_only=True):
    """What lies directly in an entity, in the order of places."""

    children: list[ChildResponse]


class SearchHit(ResponseBody, kw_only=True):
    """A name that fits; `in` is what it lies in, empty at the top."""

    kind: str
    realm: str
    type: str
    name: str
    label: str
    container: str = field(name="in")


class SearchResponse(ResponseBody, kw_only=True):
    """The best names, how many fit in all, and the realms that were left out."""

    results: list[SearchHit]
    total: int
    left_out: list[str]


class TargetQuestion(RequestBody, kw_only=True):
    """The entity of a question, and what comes along with the act.

    The schema says no more than what a batch takes, which answers a malformed question as well.
    """

    entity: str | None = None
    targets: dict[str, str] = field(default_factory=dict)
    lists: dict[str, list[str]] = field(default_factory=dict)
    attributes: dict[str, Scalar] = field(default_factory=dict)
    subresources: list[str] = field(default_factory=list)


class PrincipalQuestion(TargetQuestion, kw_only=True):
    """What a question may bring along about the act and the asker.

    Without `principal` the question is about the caller; `groups` and `roles` are those that
    an identity provider asserts and those that are active.
    """

    principal: str | None = None
    groups: list[str] = field(default_factory=list)
    roles: list[str] = field(default_factory=list)


class Question(PrincipalQuestion, kw_only=True):
    """May the principal do the operation, or does it hold the privilege, on the entity?"""

    operation: str


class Questions(RequestBody, kw_only=True):
    """Several questions, answered in order."""

    questions: Annotated[list[Question], described(minItems=1)]


class ListQuestion(Question, kw_only=True):
    """On which entities may the principal do the operation? `entity` is not looked at."""

    within: EntityText | None = None
    after: EntityText | None = None
    page: PageRequest = field(default_factory=PageRequest)


class WhoQuestion(TargetQuestion, kw_only=True):
    """Who may do the operation on the entity? With `reasons` also why, by reason."""

    operation: Word
    reasons: bool = False
    page: PageRequest = field(default_factory=PageRequest)


class AccessQuestion(RequestBody, kw_only=True):
    """Who may do what on the entity?"""

    entity: EntityText | None = None


class Answer(ResponseBody, kw_only=True):
    """A decision, with remarks beside it."""

    allow: bool
    reason: str
    revision: int
    notes: list[str]


class BatchRow(ResponseBody, kw_only=True, omit_defaults=True):
    """One of several decisions; a question that is malformed is denied, and `error` says why."""

    allow: bool
    reason: str
    error: str = ""


class Batch(ResponseBody, kw_only=True):
    """Decisions in the order of their questions."""

    answers: list[BatchRow]
    revision: int


class Listing(PagedResponse, kw_only=True):
    """Entities on which the operation is allowed; `after` is the last one where more follow."""

    entities: list[EntityName]
    after: str | None
    notes: list[str]


class WhoReasonResponse(ResponseBody, kw_only=True):
    """Users who may for one reason.

    `through` are the principals that bring it to them; no `statements`: it comes from ownership.
    `users` are the first of them, `total` counts all.
    """

    through: list[str]
    statements: list[str]
    users: list[str]
    total: int


class Users(PagedResponse, kw_only=True):
    """The stored users who may, in order; `reasons` where they were asked for."""

    users: list[str]
    notes: list[str]
    reasons: list[WhoReasonResponse] | None = None


class HeldPrivileges(ResponseBody, kw_only=True):
    """What is held on an entity, and what may be done there."""

    privileges: list[str]
    operations: list[str]
    notes: list[str]


class OperationAccess(ResponseBody, kw_only=True):
    """Who may do one operation."""

    operation: str
    users: list[str]


class AccessReview(ResponseBody, kw_only=True):
    """By operation, who may do it on the entity."""

    entity: str | None
    access: list[OperationAccess]


class RuleStep(ResponseBody, kw_only=True):
    """One part of a rule and whether it holds; the parts below it are `steps`."""

    says: str
    holds: bool
    entity: str | None
    allowed_by: list[str]
    denied_by: list[str]
    steps: list[RuleStep]


class MissingGrant(ResponseBody, kw_only=True):
    """An ALLOW that is missing. `can_be_granted_by` None: no operation hands it out."""

    privilege: str
    on: str | None
    can_be_granted_by: list[str] | None


class BlockingDenial(ResponseBody, kw_only=True):
    """A DENY in the way, and who may take it away; null: nothing hands such things out here."""

    statement: str
    can_be_lifted_by: list[str] | None


class BlockingMembership(ResponseBody, kw_only=True):
    """A membership by which a DENY reaches the asker."""

    member: str
    of: str


class AdviceResponse(ResponseBody, kw_only=True):
    """A smallest change that would turn a denial: roles to enter, ALLOWs to add, DENYs to lift.

    `opens` are other operations that it allows on the entity, and `others` counts the other
    entities on which it allows the same operation; null: not counted.
    """

    allow: list[MissingGrant]
    lift: list[BlockingDenial]
    leave: list[BlockingMembership]
    join: list[str]
    opens: list[str]
    others: int | None


class StatementPath(ResponseBody, kw_only=True):
    """How a statement comes to be about the asker: over these groups and roles."""

    statement: str
    over: list[str]


class ExplanationResponse(Answer, kw_only=True):
    """A decision and its reasons, as far as the caller may see them."""

    rule: RuleStep | None
    statements: list[str]
    ways: list[AdviceResponse]
    named: list[StatementResponse]
    reaching: list[StatementPath]
    summary: list[SentencePart]


class OperationResponse(ResponseBody, kw_only=True):
    """An operation of a model; `rules` by type of target, `none` for no resource.

    `kind` says whether it reads, changes, or administers who may what; `ways` which way to an
    asset it stands for; `group` is what its name says it is about.
    """

    name: str
    title: str
    kind: Literal["read", "change", "administer"]
    ways: list[str]
    types: list[str]
    group: str
    rules: dict[str, str]
    targets: dict[str, list[str]]
    lists: dict[str, list[str]]


class PrivilegeResponse(ResponseBody, kw_only=True):
    """A privilege of a model, and the types on which it may be granted.

    `display` is what people call it; those of a `group` are shown together. One that is not
    `grantable` only follows from others.
    """

    name: str
    title: str
    display: str
    group: str
    grantable: bool
    on: list[str]


class FieldResponse(ResponseBody, kw_only=True):
    """A field that the criteria of statements may name.

    `values` says what it is compared with, `types` of which types these entities are (none: of
    any). `below`: a value stands for all that lies below it too.
    """

    name: str
    values: Literal["type", "entity", "principal", "text"]
    types: list[str]
    below: bool


class ModelSettingResponse(ResponseBody, kw_only=True):
    """A setting of a model: what it decides, its values, and by value what that leaves open.

    Without `values` it holds types of entities, separated by commas.
    """

    name: str
    title: str
    values: list[str]
    default: str
    weakens: dict[str, str]


class Vocabulary(ResponseBody, kw_only=True):
    """What can be asked, granted and set in a realm, and by which criteria."""

    model: str
    title: str
    settings: list[ModelSettingResponse]
    operations: list[OperationResponse]
    privileges: list[PrivilegeResponse]
    fields: list[FieldResponse]


# The audit trail


class AuditRowResponse(ResponseBody, kw_only=True):
    """One row of the audit trail, and what it says in a sentence."""

    seq: int
    revision: int
    digest: str
    seal: str
    event: dict[str, Any]
    words: list[SentencePart]


class AuditRows(ResponseBody, kw_only=True):
    """Rows of the audit trail, in the order that was asked for."""

    rows: list[AuditRowResponse]
    page: NextPage


class AuditCheckResponse(ResponseBody, kw_only=True):
    """Whether the trail is whole; else the first row that is not what was written.

    `doubts` are what may have been done to a whole one without being seen.
    """

    whole: bool
    rows: int
    row: int | None = None
    what: str = ""
    doubts: tuple[str, ...] = ()
