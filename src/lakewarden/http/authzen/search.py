"""The three searches: who may do something, on which resources, and which actions.

Each result, put into the question in place of what was searched for, makes a question with the
answer yes. Unknown names, and resources that the caller may not see, give an empty list. A search
over several realms at once is in `cross_realm_search`.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

from lakewarden.http.authzen import name_resolution, request_context
from lakewarden.http.authzen.cross_realm_search import (
    CrossRealmSearch,
    group_search_notes,
    realms_of,
)
from lakewarden.http.authzen.errors import Forbidden
from lakewarden.http.authzen.evaluation import OK, Evaluation, fresh
from lakewarden.http.authzen.evaluator import Evaluator
from lakewarden.http.authzen.paging import REFUSED, PageRequest, page_request, rendered
from lakewarden.http.authzen.question import (
    Members,
    Question,
    at_least,
    optional,
    properties,
    realm_of,
    required,
    text,
)
from lakewarden.http.exchange import Exchange, Reply
from lakewarden.kernel.entity import NO_RESOURCE, Entity
from lakewarden.kernel.errors import BadInput, Unknown
from lakewarden.kernel.listing import page as page_of_listing
from lakewarden.kernel.principal import GROUP, ROLE, USER, Principal
from lakewarden.kernel.privileges import operations_of, privileges_of
from lakewarden.kernel.request import Request
from lakewarden.kernel.who import who
from lakewarden.service.cancellation import checked
from lakewarden.service.question_text import by_itself
from lakewarden.service.state import RealmState
from lakewarden.service.steps import step

Find = Callable[[Evaluator, Question, PageRequest, float], bytes]
FindSeveral = Callable[[CrossRealmSearch, PageRequest], bytes]


class Search:
    """The handlers; they share the cache of callers with `Evaluation`."""

    def __init__(self, evaluation: Evaluation) -> None:
        self._evaluation = evaluation

    def subjects(self, exchange: Exchange) -> Reply:
        """POST /access/v1/search/subject."""
        return self._reply(
            exchange, "subject", _subjects, lambda s, page: s.subjects(page, _users_page)
        )

    def resources(self, exchange: Exchange) -> Reply:
        """POST /access/v1/search/resource."""
        return self._reply(exchange, "resource", _resources, CrossRealmSearch.resources)

    def actions(self, exchange: Exchange) -> Reply:
        """POST /access/v1/search/action."""
        return self._reply(exchange, "action", _actions, CrossRealmSearch.actions)

    def _reply(
        self, exchange: Exchange, searched: str, find: Find, find_several: FindSeveral
    ) -> Reply:
        members = exchange.json()
        question = _question(members, searched)
        fresh(exchange, at_least(members))
        evaluator = self._evaluation.cache(exchange.state).evaluator(exchange)
        about = (searched, exchange.realm, evaluator.caller.name)
        page = page_request(members, exchange.services.page_rows, *about)
        names = realms_of(question)
        try:
            with step("decide"):
                if names is None:
                    body = find(evaluator, question, page, exchange.now)
                else:
                    several = CrossRealmSearch(exchange, evaluator, question, names)
                    body = find_several(several, page)
        except Unknown:
            body = rendered(page, (), 0, None, more=False)
        return Reply(OK, body)


def _question(members: Members, searched: str) -> Question:
    """The question without what is searched for; raises `BadInput` naming the member."""
    subject, resource = required(members, "subject"), required(members, "resource")
    action = optional(members, "action") if searched == "action" else required(members, "action")
    about = properties(resource, "resource")
    return Question(
        text(subject, "subject", "type"),
        "" if searched == "subject" else text(subject, "subject", "id"),
        "" if searched == "action" else text(action, "action", "name"),
        text(resource, "resource", "type"),
        "" if searched == "resource" else text(resource, "resource", "id"),
        realm_of(about),
        properties(subject, "subject"),
        properties(action, "action"),
        about,
        optional(members, "context"),
    )


# --- subjects ---


def _subjects(evaluator: Evaluator, question: Question, page: PageRequest, now: float) -> bytes:
    realm = evaluator.realm(question.realm, question.type, question.id, question.action)
    name = realm.realm.name
    if not evaluator.caller.may("subject.search", name, now):
        raise Forbidden(
            f"a subject search in the realm `{name}` requires the privilege of an enforcement point"
        )
    if question.kind not in (USER, GROUP, ROLE):
        raise Unknown("subject type", question.kind)
    target = name_resolution.entity(realm, question.type, question.id)
    request = Request(Principal(question.kind, ""), question.action, target, now)
    realm.matrix.operation(question.action)
    trusted = evaluator.caller.may("decision.ask", name, now)
    request = request_context.with_parts(request, question, realm, trusted=trusted, groups=())
    names = sorted(_users_page(realm, request))
    notes = group_search_notes(question.kind)
    return _page_of(names, page, lambda name: {"type": question.kind, "id": name}, notes)


def _users_page(realm: RealmState, request: Request) -> Iterator[str]:
    """The names of the allowed stored principals of the request's kind."""
    kind = request.principal.kind
    if kind == USER and not request.groups and request.roles is None:
        yield from (principal.name for principal in who(realm.matrix, request))
        return
    memberships = realm.matrix.snapshot.coded.memberships
    for principal in checked(memberships.principals[id] for id in sorted(memberships.stored)):
        if principal.kind == kind:
            of_principal = replace(request, principal=principal)
            if realm.matrix.decide(of_principal).allow:
                yield principal.name


# --- resources ---


def _resources(evaluator: Evaluator, question: Question, page: PageRequest, now: float) -> bytes:
    realm = evaluator.realm_of_type(question.realm, question.type, question.action)
    request, _ = evaluator.request(
        question._replace(type=name_resolution.PLATFORM, id=name_resolution.PLATFORM), realm, now
    )
    realm.system.model.check_type(question.type)
    place = _place(page)
    after = None if place is None else name_resolution.place(realm, place)
    size = max(page.size, 1)
    listed = page_of_listing(realm.matrix, request, size, after, type=question.type, each=checked)
    entities = listed.entities[: page.size]
    results = [{"type": entity.type, "id": entity.name} for entity in entities]
    more = listed.after is not None or len(entities) < len(listed.entities)
    last = entities[-1] if entities else after
    notes = by_itself(request.principal)
    return rendered(page, results, listed.total, last, more=more, notes=notes)


def _place(page: PageRequest) -> Entity | None:
    if page.after is None:
        return None
    if len(page.after) != len(NO_RESOURCE):
        raise BadInput(REFUSED, where="page.token")
    return Entity(*page.after)


# --- actions ---


def _actions(evaluator: Evaluator, question: Question, page: PageRequest, now: float) -> bytes:
    realm = evaluator.realm(question.realm, question.type, question.id, question.action)
    request, _ = evaluator.request(question, realm, now)
    names = sorted({*operations_of(realm.matrix, request), *privileges_of(realm.matrix, request)})
    notes = by_itself(request.principal)
    return _page_of(names, page, lambda name: {"name": name}, notes)


def _page_of(
    names: Sequence[str],
    page: PageRequest,
    result: Callable[[str], dict[str, str]],
    notes: Sequence[str],
) -> bytes:
    start = 0 if page.after is None else bisect_right(names, page.after[0])
    chosen = names[start : start + page.size]
    more = start + len(chosen) < len(names)
    last = chosen[-1:] or page.after
    results = [result(name) for name in chosen]
    return rendered(page, results, len(names), last, more=more, notes=notes)
