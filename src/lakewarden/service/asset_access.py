"""Who reaches one asset through any of its realms, and by which grants.

A person reaches it if one of the paths to it is open: see `asset_paths`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Final

from lakewarden.kernel.explain import Step
from lakewarden.kernel.implied import is_reserved
from lakewarden.kernel.principal import ALL_USERS, ANY_GROUP, Principal
from lakewarden.kernel.request import Request
from lakewarden.kernel.statement import Effect, Statement
from lakewarden.service import question_text, questions
from lakewarden.service.actor import Actor
from lakewarden.service.asset_paths import AssetPath, AssetQuestion, asset_paths, open_paths
from lakewarden.service.asset_rows import people_of_row
from lakewarden.service.control import Denied
from lakewarden.service.input_field import in_field
from lakewarden.service.link import Asset
from lakewarden.service.page_size import PAGE_ROWS, check_page_size
from lakewarden.service.question_text import QuestionText
from lakewarden.service.questions import AuthorizedQuestion, Reasons, Rights
from lakewarden.service.state import State

MAX_PEOPLE: Final = 500
"""The most people in one answer: each path of each person is explained."""


@dataclass(frozen=True, slots=True)
class StatementGrant:
    """A statement that grants access, and the principals through which it applies to the person.

    `over` None: the statement applies to owners, and the person is one.
    """

    statement: Statement
    over: tuple[Principal, ...] | None


@dataclass(frozen=True, slots=True)
class PathGrants:
    """What opens a path: statements, and other facts of the rule (`owner(self)`).

    `is_visible` is False for a caller who may not read the explanation.
    """

    grants: tuple[StatementGrant, ...] = ()
    facts: tuple[str, ...] = ()
    is_visible: bool = True


@dataclass(frozen=True, slots=True)
class PersonAccess:
    """A person who reaches the asset, and the open paths, each with what opens it."""

    person: str
    paths: tuple[tuple[AssetPath, PathGrants], ...]


@dataclass(frozen=True, slots=True)
class AssetAccess:
    """Who reaches an asset.

    `assets` are all linked entities, `paths` the requested ones. `total` is the number of people,
    `people` a page of them, and `counts` the number per path. `after`: there are more.
    """

    assets: tuple[Asset, ...]
    paths: tuple[AssetPath, ...]
    total: int
    counts: dict[str, int]
    people: tuple[PersonAccess, ...]
    after: str | None
    left_out: tuple[str, ...]


def asset_access(
    state: State,
    actor: Actor,
    question: AssetQuestion,
    now: float,
    *,
    row: str | None = None,
    size: int = PAGE_ROWS,
    after: str | None = None,
) -> AssetAccess | Denied:
    """Who reaches the asset, in a row of `access_table` or among all people, and by what.

    Raises `BadInput` that names the field.
    """
    check_page_size(size, MAX_PEOPLE, where="limit")
    paths = asset_paths(state, actor, question, now)
    if isinstance(paths, Denied):
        return paths
    open_to = open_paths(state, paths.paths, now)
    if row is not None:
        with in_field("row"):
            members = people_of_row(state, (asset.realm for asset in paths.assets), row)
        open_to = {name: paths for name, paths in open_to.items() if name in members}
    people = sorted(open_to)
    remaining = people if after is None else [name for name in people if name > after]
    on_page = remaining[:size]
    explainer = _PathExplainer(state, actor, now)
    return AssetAccess(
        paths.assets,
        paths.paths,
        len(people),
        {
            way: sum(any(p.way == way for p, _ in open_to[name]) for name in people)
            for way in (question.ways if question.operations is None else ())
        },
        tuple(
            PersonAccess(
                name, tuple((path, explainer.by(path, p)) for path, p in sorted(open_to[name]))
            )
            for name in on_page
        ),
        on_page[-1] if len(remaining) > size else None,
        paths.left_out,
    )


class _PathExplainer:
    """Explains what opens paths, as far as the caller may see it."""

    def __init__(self, state: State, actor: Actor, now: float) -> None:
        self._state = state
        self._actor = actor
        self._now = now
        self._rights: dict[str, Rights] = {}

    def by(self, path: AssetPath, principal: Principal) -> PathGrants:
        realm = path.asset.realm
        rights = self._rights.get(realm)
        if rights is None:
            rights = self._rights[realm] = Rights(self._state, self._actor, realm, self._now)
        realm_state = self._state.realm(realm)
        if rights.denial("explain.ask") is not None:
            own = self._actor.principal(realm_state.realm, realm_state.system)
            is_own = principal == own and self._actor.is_valid_in(realm_state.realm)
            if not is_own or rights.denial("explain.ask_own") is not None:
                return PathGrants(is_visible=False)
        request = Request(principal, path.operation, path.asset.entity, self._now)
        text = QuestionText(operation=path.operation)
        question = AuthorizedQuestion(realm_state, text, request, rights.sees_all)
        return _by(question, questions.reasons(self._state, self._actor, question))


def _by(question: AuthorizedQuestion, reasons: Reasons) -> PathGrants:
    grants = tuple(
        StatementGrant(statement, _over(question, reasons, statement))
        for statement in reasons.statements
        if statement.effect is Effect.ALLOW and statement.id in reasons.explanation.statements
    )
    rule = reasons.explanation.rule
    facts = [] if rule is None else list(_facts(rule))
    # Membership of the container opens nothing in addition to a granting statement.
    causes = (cause for cause, is_implied in facts if not (is_implied and grants))
    return PathGrants(grants, tuple(dict.fromkeys(causes)))


def _over(
    question: AuthorizedQuestion, reasons: Reasons, statement: Statement
) -> tuple[Principal, ...] | None:
    named = reasons.reaching.get(statement.id)
    if named is not None:
        return named
    acts_as = question.realm.matrix.subject(question.request).named
    for implied in (ALL_USERS, ANY_GROUP):
        if implied in acts_as:
            request = replace(question.request, principal=implied, groups=())
            chain = question_text.membership_path(question.realm.matrix, request, statement)
            if chain is not None:
                return (implied, *chain)
    return None


def _facts(step: Step) -> Iterator[tuple[str, bool]]:
    """Facts that hold without a stored statement: ownership, membership, administration.

    The second value is whether an implied statement grants the fact.
    """
    if not step.holds or not all(is_reserved(id) for id in step.allowed_by):
        return
    if step.steps:
        for inner in step.steps:
            yield from _facts(inner)
    elif not step.says.startswith("not denied"):
        yield step.says, bool(step.allowed_by)
