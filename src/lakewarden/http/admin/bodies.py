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
    ActionName,
    DirectoryName,
    EntityText,
    ModelFile,
    ModelName,
    Moment,
    PrincipalText,
    RealmName,
    Scalar,
    described,
)
from lakewarden.kernel.statement import MAX_CRITERIA
from lakewarden.service.page_size import MAX_PAGE, PAGE_ROWS
from lakewarden.service.password import LONGEST as LONGEST_PASSWORD
from lakewarden.service.password import SHORTEST
from lakewarden.service.plan import MAX_KEEPER
from lakewarden.service.realm import DIRECTORY
from lakewarden.service.token import DAY, LONGEST, MAX_TITLE
from lakewarden.service.user_attributes import ATTRIBUTE, MAX_ATTRIBUTE_VALUE, MAX_ATTRIBUTES


class RequestBody(Struct, forbid_unknown_fields=True):
    """Base of request bodies. A response may contain the same type."""


class ResponseBody(Struct):
    """Base of response bodies."""


class PageRequest(RequestBody, kw_only=True):
    """The requested page of a list; `skip` counts preceding rows and applies without a token."""

    token: str = ""
    skip: Annotated[int, Meta(ge=0)] = 0
    limit: Annotated[int, described(minimum=1, maximum=MAX_PAGE)] = PAGE_ROWS


class NextPage(ResponseBody, kw_only=True):
    """The token of the next page; empty on the last page."""

    next_token: str = ""


class PagedResponse(ResponseBody, kw_only=True):
    """A page of a list: the total number of rows, and the token of the next page."""

    total: int
    page: NextPage


class Problem(ResponseBody, kw_only=True, omit_defaults=True):
    """An error (RFC 9457); the members from `errors` on are present where they apply."""

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
    """An invalid field: its path in the request, and what is wrong with it."""

    path: str
    message: str


class MissingPrivilege(ResponseBody, kw_only=True):
    """The missing privilege, and the object on which it can be granted."""

    privilege: str
    object: str


# Who is calling


class Caller(ResponseBody, kw_only=True):
    """The authenticated caller."""

    user: str
    directory: str
    realm: str | None
    groups: list[str]
    credential: str
    administrator: bool


# Realms


class NewRealm(RequestBody, kw_only=True):
    """A realm to create, with a shipped model or with the text of a custom model."""

    name: RealmName
    model: ModelName | UnsetType = UNSET
    model_text: ModelFile | UnsetType = UNSET
    directory: DirectoryName = DIRECTORY
    settings: dict[str, str] = field(default_factory=dict)
    spellings: dict[str, str] = field(default_factory=dict)


class RealmChange(RequestBody, kw_only=True):
    """The settings and spellings to replace; omitted members stay unchanged."""

    settings: dict[str, str] | UnsetType = UNSET
    spellings: dict[str, str] | UnsetType = UNSET


class ModelUpgrade(RequestBody, kw_only=True):
    """A new version of a realm's custom model; without `apply` only the plan is returned.

    `drop` removes stored rows that the new version does not declare.
    """

    model_text: ModelFile
    apply: bool = False
    drop: bool = False


class UpgradeResponse(ResponseBody, kw_only=True):
    """The changes of an upgrade, planned or applied.

    `words` are the added, removed and redefined names, by `types`, `privileges` and
    `operations`. `pending`: the upgrade is not applied. `was` and `now` are digests. `orphans`
    are the first of the rows that no longer fit the model, `orphaned` counts all by kind.
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
    """A realm. `settings` are all settings of its model, including defaults.

    `model_digest` is null for a shipped model; `model_text` is present when one realm is read.
    Counts and spellings are present if the caller may read the realm's contents.
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
    """The realms that are visible to the caller."""

    realms: list[RealmResponse]


# People


class DirectoryResponse(ResponseBody, kw_only=True):
    """A directory: how many users and groups it has, and the realms that use it."""

    name: str
    users: int
    groups: int
    realms: list[str]


class Directories(ResponseBody, kw_only=True):
    """The directories that are visible to the caller."""

    directories: list[DirectoryResponse]


class Principals(PagedResponse, kw_only=True):
    """Users, groups and roles as `kind:name`, sorted."""

    principals: list[str]


class PrincipalRequest(RequestBody, kw_only=True):
    """A user, group or role."""

    principal: PrincipalText


class Membership(RequestBody, kw_only=True):
    """A membership: `member` belongs to the group or role `of`."""

    member: PrincipalText
    of: PrincipalText


class DirectoryMembership(Membership, kw_only=True):
    """A membership in a directory: `member` belongs to the group `of`."""

    member: Annotated[str, described(pattern=f"^(user|group):{PERSON}")]
    of: Annotated[str, described(pattern=f"^group:{PERSON}")]


class Memberships(PagedResponse, kw_only=True):
    """Memberships, sorted."""

    memberships: list[Membership]


# Tokens


class SignIn(RequestBody, kw_only=True):
    """Credentials of a login; empty if the request header has them.

    A password is that of a user of `realm` or of `directory`; if neither is given, of `main`.
    """

    user: str = ""
    password: str = ""
    token: str = ""
    realm: str = ""
    directory: Annotated[DirectoryName, Meta(min_length=1)] | None = None


class PasswordRequest(RequestBody, kw_only=True):
    """A new password. Only its hash is stored."""

    password: Annotated[str, described(minLength=SHORTEST, maxLength=LONGEST_PASSWORD)]


class UserAttributes(ResponseBody, kw_only=True):
    """What a directory knows of a user: `$user.NAME` in row filters and column masks."""

    attributes: dict[str, str]


AttributeName = Annotated[str, described(pattern=f"^(?!(name|groups)$){ATTRIBUTE}$")]
AttributeValue = Annotated[
    str, described(minLength=1, maxLength=MAX_ATTRIBUTE_VALUE, pattern=READABLE)
]


class UserAttributesRequest(RequestBody, kw_only=True):
    """All attributes of a user; those that are not named are removed."""

    attributes: Annotated[
        dict[AttributeName, AttributeValue], described(maxProperties=MAX_ATTRIBUTES)
    ]


class SessionResponse(ResponseBody, kw_only=True):
    """The signed-in user, and what the pages need for further requests.

    `csrf` is the value of the header `Lakewarden-CSRF`. It is empty, and the expiry times are
    null, if the request was authenticated without a session.
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
    """A valid session; `own`: the session of this request."""

    id: str
    user: str
    directory: str
    realm: str | None
    began: datetime
    ends: datetime
    idle_ends: datetime
    own: bool


class Sessions(ResponseBody, kw_only=True):
    """Valid sessions, the oldest first."""

    sessions: list[SessionRow]


class NewToken(RequestBody, kw_only=True):
    """A token to create, valid for `seconds`. Without `user` it is a token of the caller.

    If `new` is false, the user must be stored in the directory or in one of its realms. If
    `engine` is true, the token is valid only where engines ask, also in their `?token=`.
    """

    user: str | None = None
    directory: DirectoryName | None = None
    realm: str | None = None
    seconds: Annotated[float, described(exclusiveMinimum=0, maximum=LONGEST)] = DAY
    title: Annotated[str, described(maxLength=MAX_TITLE, pattern=READABLE)] = ""
    new: bool = True
    engine: bool = False


class TokenResponse(ResponseBody, kw_only=True):
    """A token without its secret text."""

    id: str
    user: str
    directory: str
    realm: str | None
    title: str
    created: datetime
    expires: datetime


class TokenIssued(TokenResponse, kw_only=True):
    """A new token with its secret text, which is returned only here."""

    token: str


class Tokens(ResponseBody, kw_only=True):
    """Valid tokens, the oldest first."""

    tokens: list[TokenResponse]


# Statements


class Criterion(RequestBody, kw_only=True):
    """A condition on a field of the resource."""

    field: str
    values: list[str]
    condition: Literal["EQUALS", "STARTS_WITH", "NOT_EQUALS"] = "EQUALS"


Criteria = Annotated[list[Criterion], described(maxItems=MAX_CRITERIA)]


class StatementParts(Struct, kw_only=True, omit_defaults=True):
    """The members of a statement: principals, privileges and scope.

    One of `on`, `matching` and `where` is the scope; without any, the scope is everything.
    """

    privileges: list[ActionName]
    to: list[PrincipalText]
    title: str = ""
    on: EntityText | None = None
    matching: EntityText | None = None
    where: Criteria | None = None
    constraint: Criteria | None = None
    valid_from: Moment | None = None
    valid_until: Moment | None = None
    active: bool = True


class StatementRequest(StatementParts, RequestBody, kw_only=True, forbid_unknown_fields=True):
    """A statement to store.

    `mark` names its keeper; to change a marked statement, its mark must be given.
    """

    privileges: Annotated[list[ActionName], described(minItems=1)]
    to: Annotated[list[PrincipalText], described(minItems=1)]
    effect: Literal["allow", "deny"] = "allow"
    mark: Annotated[str, Meta(max_length=MAX_KEEPER, pattern=READABLE)] = ""


class Reference(ResponseBody, kw_only=True):
    """What a sentence part names: entity, principal, privilege, operation or statement."""

    kind: str
    name: str
    realm: str


class SentencePart(ResponseBody, kw_only=True):
    """A part of a sentence, with a reference to what it names."""

    text: str
    ref: Reference | None = None


class StatementResponse(StatementParts, ResponseBody, kw_only=True):
    """A stored statement.

    A filter or a mask has an `expression` and no privileges; `except` are those whom it does not
    bind. Without `to` it binds everybody.
    """

    id: str
    effect: Literal["allow", "deny", "filter", "mask"] = "allow"
    excepted: list[PrincipalText] = field(default_factory=list, name="except")
    expression: str = ""


class ObligationRequest(RequestBody, kw_only=True, forbid_unknown_fields=True):
    """A row filter or a column mask to store, with `on` or `where` for what it is about.

    It binds whom `to` names, everybody if it names nobody, but not whom `except` names. An
    exception counts for this filter or mask alone. `mark` names its keeper, as for statements.
    """

    expression: Annotated[str, described(minLength=1)]
    to: list[PrincipalText] = []
    excepted: list[PrincipalText] = field(default_factory=list, name="except")
    title: str = ""
    on: EntityText | None = None
    where: Criteria | None = None
    valid_from: Moment | None = None
    valid_until: Moment | None = None
    active: bool = True
    mark: Annotated[str, Meta(max_length=MAX_KEEPER, pattern=READABLE)] = ""


class StatementReachResponse(ResponseBody, kw_only=True):
    """How many stored users and how many stored entities a statement applies to."""

    users: int
    entities: int


class LastChange(ResponseBody, kw_only=True):
    """The last change: time, actor and revision."""

    at: datetime
    by: str
    revision: int


class StatementRow(StatementResponse, kw_only=True):
    """A stored statement, and its sentence in `words`.

    `mark` names its keeper. `reach` and `changed` are present if requested in `fields`; of filters
    and masks `reach` is whom they bind and what they limit. `changed` is absent if the change feed
    no longer has the change. With the filter `reaching`, `source` is the entity that is the
    statement's scope, `direct` whether it is the requested entity, and `beaten_by` are the DENYs
    that override the statement there. `immutable_because` is the reason why a statement is not
    `editable`. Members with their default value are omitted.
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
    """Statements of a realm, sorted by id or by title."""

    statements: list[StatementRow]


# Entities


class EntityName(ResponseBody, kw_only=True):
    """Type and name of an entity."""

    type: str
    name: str


class Owner(RequestBody, kw_only=True):
    """An owner, with its ownership type in systems that have ownership types."""

    principal: PrincipalText
    ownership: str = ""


class EntityRequest(RequestBody, kw_only=True):
    """An entity to store or move; `owners` replaces all owners of the entity."""

    entity: EntityText
    parent: EntityText | None = None
    owners: list[Owner] | None = None


class EntityResponse(ResponseBody, kw_only=True):
    """A stored entity with its parent, owners, attributes and relations."""

    entity: str
    type: str
    name: str
    parent: str | None
    owners: list[Owner]
    attributes: dict[str, list[str]]
    relations: dict[str, list[str]]


class Entities(PagedResponse, kw_only=True):
    """Entities in hierarchy order."""

    entities: list[EntityName]


# Questions


class ChildResponse(ResponseBody, kw_only=True):
    """An entity in its container, with the number of its children and of its descendants."""

    entity: str
    type: str
    label: str
    children: int
    below: int


class ChildrenResponse(PagedResponse, kw_only=True):
    """The children of an entity, in hierarchy order."""

    children: list[ChildResponse]


class SearchHit(ResponseBody, kw_only=True):
    """A matching name; `in` is the label of its container, empty at the top."""

    kind: str
    realm: str
    type: str
    name: str
    label: str
    container: str = field(name="in")


class SearchResponse(ResponseBody, kw_only=True):
    """The best matches, the number of all matches, and the realms that were not searched."""

    results: list[SearchHit]
    total: int
    left_out: list[str]


class TargetQuestion(RequestBody, kw_only=True):
    """The target of a question, with its further parts.

    The schema is lenient: in a batch, a malformed question is denied with an error of its own.
    """

    entity: str | None = None
    targets: dict[str, str] = field(default_factory=dict)
    lists: dict[str, list[str]] = field(default_factory=dict)
    attributes: dict[str, Scalar] = field(default_factory=dict)
    subresources: list[str] = field(default_factory=list)


class PrincipalQuestion(TargetQuestion, kw_only=True):
    """Principal and target of a question.

    Without `principal` the question is about the caller. `groups` are those that an identity
    provider asserts, `roles` those that are active.
    """

    principal: str | None = None
    groups: list[str] = field(default_factory=list)
    roles: list[str] = field(default_factory=list)


class SightQuestion(PrincipalQuestion, kw_only=True):
    """A question what a principal sees of a table.

    With an `engine`, the answer says in its SQL what a read has to keep to; `columns` are then the
    columns of the table as the engine has them, with the engine's types.
    """

    engine: str = ""
    columns: dict[str, str] = field(default_factory=dict)


class Question(PrincipalQuestion, kw_only=True):
    """A check: may the principal do the operation, or does it hold the privilege, on the entity?"""

    operation: str


class Questions(RequestBody, kw_only=True):
    """A batch of checks, answered in order."""

    questions: Annotated[list[Question], described(minItems=1)]


class ListQuestion(Question, kw_only=True):
    """A list question: on which entities may the principal do it? `entity` is ignored."""

    within: EntityText | None = None
    after: EntityText | None = None
    page: PageRequest = field(default_factory=PageRequest)


class WhoQuestion(TargetQuestion, kw_only=True):
    """A reverse question: who may do the operation on the entity? `reasons` adds the causes."""

    operation: ActionName
    reasons: bool = False
    page: PageRequest = field(default_factory=PageRequest)


class UnmaskedQuestion(RequestBody, kw_only=True):
    """Who sees the values of a column: the users who read its table and whom no mask binds."""

    entity: EntityText
    page: PageRequest = field(default_factory=PageRequest)


class AccessQuestion(RequestBody, kw_only=True):
    """An access review of an entity: who may do which operation?"""

    entity: EntityText | None = None


class Answer(ResponseBody, kw_only=True):
    """A decision with its reason, revision and notes."""

    allow: bool
    reason: str
    revision: int
    notes: list[str]


class BatchRow(ResponseBody, kw_only=True, omit_defaults=True):
    """A decision of a batch; for a malformed question, `error` has the message."""

    allow: bool
    reason: str
    error: str = ""


class Batch(ResponseBody, kw_only=True):
    """Decisions in the order of the questions."""

    answers: list[BatchRow]
    revision: int


class Listing(PagedResponse, kw_only=True):
    """The allowed entities; `after` is the last one if more follow."""

    entities: list[EntityName]
    after: str | None
    notes: list[str]


class WhoReasonResponse(ResponseBody, kw_only=True):
    """A group of users with the same cause of access.

    `through` are the principals that give the access; without `statements` it is by ownership.
    `users` are the first of them, `total` counts all.
    """

    through: list[str]
    statements: list[str]
    users: list[str]
    total: int


class Users(PagedResponse, kw_only=True):
    """The stored users who are allowed, sorted; `reasons` if requested."""

    users: list[str]
    notes: list[str]
    reasons: list[WhoReasonResponse] | None = None


class HeldPrivileges(ResponseBody, kw_only=True):
    """The privileges that are held on an entity, and the operations that are allowed on it."""

    privileges: list[str]
    operations: list[str]
    notes: list[str]


class BindingFilter(ResponseBody, kw_only=True):
    """A row filter that binds; `words` is its sentence, empty if the caller reads no statements."""

    id: str
    expression: str
    words: list[SentencePart]


class MaskedColumn(ResponseBody, kw_only=True):
    """A masked column: `mask` is the one that counts, `masks` the ids of all that bind."""

    column: str
    mask: str
    expression: str
    masks: list[str]


class RenderedRead(ResponseBody, kw_only=True):
    """What a read has to keep to, in the SQL of an engine.

    `may_read` is also false where one of the columns is denied. `missing` are the privileges that a
    denied read lacks. `masks` have the SQL to show instead of a column's values, by column, or null
    for its values.
    """

    may_read: bool
    missing: list[str]
    filters: list[str]
    masks: dict[str, str | None]


class SightResponse(ResponseBody, kw_only=True):
    """What a principal sees of a table.

    `operation` is what reading requires; empty if the model has no operation for it. Rows have to
    meet all `filters`. `columns` are the masked ones, of `stored` columns. `rendered` is there if
    the question has an engine.
    """

    may_read: bool
    operation: str
    filters: list[BindingFilter]
    columns: list[MaskedColumn]
    stored: int
    notes: list[str]
    rendered: RenderedRead | None = None


class OperationAccess(ResponseBody, kw_only=True):
    """The users who may do one operation."""

    operation: str
    users: list[str]


class AccessReview(ResponseBody, kw_only=True):
    """By operation, the users who may do it on the entity."""

    entity: str | None
    access: list[OperationAccess]


class RuleStep(ResponseBody, kw_only=True):
    """A node of a rule with its result; `steps` are its operands."""

    says: str
    holds: bool
    entity: str | None
    allowed_by: list[str]
    denied_by: list[str]
    steps: list[RuleStep]


class MissingGrant(ResponseBody, kw_only=True):
    """A missing ALLOW. `can_be_granted_by` is null if no operation grants it."""

    privilege: str
    on: str | None
    can_be_granted_by: list[str] | None


class BlockingDenial(ResponseBody, kw_only=True):
    """A DENY that applies, and who may remove it; null if no operation removes it."""

    statement: str
    can_be_lifted_by: list[str] | None


class BlockingMembership(ResponseBody, kw_only=True):
    """A membership through which a DENY applies to the principal."""

    member: str
    of: str


class AdviceResponse(ResponseBody, kw_only=True):
    """A minimal change that turns the denial into an ALLOW.

    `allow` are ALLOWs to add, `lift` DENYs to remove, `leave` and `join` memberships to end and to
    add. `opens` are further operations that the change allows on the entity; `others` counts the
    other entities on which it allows the operation, null if not counted.
    """

    allow: list[MissingGrant]
    lift: list[BlockingDenial]
    leave: list[BlockingMembership]
    join: list[str]
    opens: list[str]
    others: int | None


class StatementPath(ResponseBody, kw_only=True):
    """The groups and roles through which a statement applies to the principal."""

    statement: str
    over: list[str]


class BindingLimits(ResponseBody, kw_only=True):
    """The ids of the row filters and column masks that bind where the entity is read."""

    filters: list[str]
    masks: list[str]


class ExplanationResponse(Answer, kw_only=True):
    """A decision and its causes, as far as they are visible to the caller.

    `limits` is null where no row filter and no column mask binds.
    """

    rule: RuleStep | None
    statements: list[str]
    ways: list[AdviceResponse]
    named: list[StatementResponse]
    reaching: list[StatementPath]
    summary: list[SentencePart]
    limits: BindingLimits | None = None


class DenialResponse(ResponseBody, kw_only=True):
    """A denial that an engine showed: whom, what on what (null: no resource), and when last.

    `reason` is what the engine's user was told, `wire` the engine's protocol, `revision` that of
    the decision.
    """

    decision: str
    at: datetime
    revision: int
    principal: str
    operation: str
    entity: str | None
    reason: str
    wire: str


class DenialsResponse(ResponseBody, kw_only=True):
    """The latest denials of a principal, the newest first."""

    denials: list[DenialResponse]


class DecisionResponse(ResponseBody, kw_only=True):
    """A denial, and the same question explained as things are now."""

    denial: DenialResponse
    explanation: ExplanationResponse


class OperationResponse(ResponseBody, kw_only=True):
    """An operation of a model; `rules` by target type, `none` for no resource.

    `kind` is whether it reads, changes or administers; `ways` are the kinds of access that it
    stands for; `group` is the prefix of its name.
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
    """A privilege of a model, and the types on which it can be granted.

    `display` is its display name, `group` its heading. A privilege that is not `grantable` is
    implied by others only.
    """

    name: str
    title: str
    display: str
    group: str
    grantable: bool
    on: list[str]


class FieldResponse(ResponseBody, kw_only=True):
    """A field for criteria of statements.

    `values` is the kind of its values, `types` the types of these entities (empty: any). `below`:
    a value also matches its descendants. Without `grants`, only filters and masks choose by it.
    """

    name: str
    values: Literal["type", "entity", "principal", "text"]
    types: list[str]
    below: bool
    grants: bool


class ModelSettingResponse(ResponseBody, kw_only=True):
    """A setting of a model: its values, its default, and by value what it weakens.

    A setting without `values` is a comma-separated list of entity types.
    """

    name: str
    title: str
    values: list[str]
    default: str
    weakens: dict[str, str]


class Vocabulary(ResponseBody, kw_only=True):
    """The operations, privileges, fields and settings of a realm's model.

    `limits` are the effects that limit what a read returns: those of the model's rows and columns.
    """

    model: str
    title: str
    limits: list[Literal["filter", "mask"]]
    settings: list[ModelSettingResponse]
    operations: list[OperationResponse]
    privileges: list[PrivilegeResponse]
    fields: list[FieldResponse]


# The audit trail


class AuditRowResponse(ResponseBody, kw_only=True):
    """A row of the audit trail, and its sentence in `words`.

    `title` is what the operation is called; empty if nothing declares it.
    """

    seq: int
    revision: int
    digest: str
    seal: str
    event: dict[str, Any]
    title: str
    words: list[SentencePart]


class AuditRows(ResponseBody, kw_only=True):
    """Rows of the audit trail, in the requested order."""

    rows: list[AuditRowResponse]
    page: NextPage


class AuditCheckResponse(ResponseBody, kw_only=True):
    """The result of the integrity check; if it fails, the first row that was modified.

    `doubts` are modifications that the check cannot exclude.
    """

    whole: bool
    rows: int
    row: int | None = None
    what: str = ""
    doubts: tuple[str, ...] = ()
