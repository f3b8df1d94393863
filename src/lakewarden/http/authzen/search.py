"""The three searches: who may do something, on what, and what one may do.

Each result, put into the question in place of what was searched for, is a question with the
answer yes. What is not known, and what may not be seen, gives an empty list. A search over
several realms at once is in `several`.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

from lakewarden.http.authzen import name_resolution, request_context
from lakewarden.http.authzen.cross_realm_search import CrossRealmSearch, among_kind, realms_of
from lakewarden.http.authzen.errors import Forbidden
from lakewarden.http.authzen.evaluation import OK, Evaluation, fresh
from lakewarden.http.authzen.evaluator import Evaluator
from lakewarden.http.authzen.paging import Wanted, rendered, wanted
from lakewarden.http.authzen.question import (
    Asked,
    Members,
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
from lakewarden.kernel.listing import page
from lakewarden.kernel.principal import GROUP, ROLE, USER, Principal
from lakewarden.kernel.privileges import operations_of, privileges_of
from lakewarden.kernel.request import Request
from lakewarden.kernel.who import who
from lakewarden.service.cancellation import checked
from lakewarden.service.question_text import by_itself
from lakewarden.service.state import RealmState

Find = Callable[[Evaluator, Asked, Wanted, float], bytes]
FindSeveral = Callable[[CrossRealmSearch, Wanted], bytes]


class Search:
    """The handlers; what is remembered about callers they share with `Evaluation`."""

    def __init__(self, evaluation: Evaluation) -> None:
        self._evaluation = evaluation

    def subjects(self, exchange: Exchange) -> Reply:
        """POST /access/v1/search/subject."""
        return self._found(exchange, "subject", _subjects, lambda s, page: s.subjects(page, _who))

    def resources(self, exchange: Exchange) -> Reply:
        """POST /access/v1/search/resource."""
        return self._found(exchange, "resource", _resources, CrossRealmSearch.resources)

    def actions(self, exchange: Exchange) -> Reply:
        """POST /access/v1/search/action."""
        return self._found(exchange, "action", _actions, CrossRealmSearch.actions)

    def _found(
        self, exchange: Exchange, sought: str, find: Find, find_several: FindSeveral
    ) -> Reply:
        members = exchange.json()
        asked = _asked(members, sought)
        fresh(exchange, at_least(members))
        evaluator = self._evaluation.cache(exchange.state).evaluator(exchange)
        about = (sought, exchange.realm, evaluator.asker.name)
        page = wanted(members, exchange.services.page_rows, *about)
        names = realms_of(asked)
        try:
            if names is None:
                body = find(evaluator, asked, page, exchange.now)
            else:
                body = find_several(CrossRealmSearch(exchange, evaluator, asked, names), page)
        except Unknown:
            body = rendered(page, (), 0, None, more=False)
        return Reply(OK, body)


def _asked(members: Members, sought: str) -> Asked:
    """The question without what is searched for; raises `BadInput` naming the member."""
    subject, resource = required(members, "subject"), required(members, "resource")
    action = optional(members, "action") if sought == "action" else required(members, "action")
    about = properties(resource, "resource")
    return Asked(
        text(subject, "subject", "type"),
        "" if sought == "subject" else text(subject, "subject", "id"),
        "" if sought == "action" else text(action, "action", "name"),
        text(resource, "resource", "type"),
        "" if sought == "resource" else text(resource, "resource", "id"),
        realm_of(about),
        properties(subject, "subject"),
        properties(action, "action"),
        about,
        optional(members, "context"),
    )


# --- subjects ---


def _subjects(evaluator: Evaluator, asked: Asked, wanted: Wanted, now: float) -> bytes:
    realm = evaluator.realm(asked.realm, asked.type, asked.id, asked.action)
    name = realm.realm.name
    if not evaluator.asker.may("subject.search", name, now):
        raise Forbidden(
            f"searching for subjects in the realm `{name}` takes the right of an enforcement point"
        )
    if asked.kind not in (USER, GROUP, ROLE):
        raise Unknown("subject type", asked.kind)
    target = name_resolution.entity(realm, asked.type, asked.id)
    question = Request(Principal(asked.kind, ""), asked.action, target, now)
    realm.matrix.operation(asked.action)
    trusted = evaluator.asker.may("decision.ask", name, now)
    question = request_context.with_parts(question, asked, realm, trusted=trusted, groups=())
    names = sorted(_who(realm, question))
    notes = among_kind(asked.kind)
    return _page_of(names, wanted, lambda name: {"type": asked.kind, "id": name}, notes)


def _who(realm: RealmState, question: Request) -> Iterator[str]:
    """The names of the stored principals of the question's kind for whom the answer is yes."""
    kind = question.principal.kind
    if kind == USER and not question.groups and question.roles is None:
        yield from (principal.name for principal in who(realm.matrix, question))
        return
    memberships = realm.matrix.snapshot.coded.memberships
    for principal in checked(memberships.principals[id] for id in sorted(memberships.stored)):
        if principal.kind == kind:
            asked = replace(question, principal=principal)
            if realm.matrix.decide(asked).allow:
                yield principal.name


# --- resources ---


def _resources(evaluator: Evaluator, asked: Asked, wanted: Wanted, now: float) -> bytes:
    realm = evaluator.realm_of_type(asked.realm, asked.type, asked.action)
    question, _ = evaluator.request(
        asked._replace(type=name_resolution.PLATFORM, id=name_resolution.PLATFORM), realm, now
    )
    realm.system.model.check_type(asked.type)
    after = _place(wanted)
    found = page(realm.matrix, question, max(wanted.size, 1), after, type=asked.type, each=checked)
    entities = found.entities[: wanted.size]
    results = [{"type": entity.type, "id": entity.name} for entity in entities]
    more = found.after is not None or len(entities) < len(found.entities)
    last = entities[-1] if entities else after
    notes = by_itself(question.principal)
    return rendered(wanted, results, found.total, last, more=more, notes=notes)


def _place(wanted: Wanted) -> Entity | None:
    if wanted.after is None:
        return None
    if len(wanted.after) != len(NO_RESOURCE):
        raise BadInput("belongs to no page of this search", where="page.token")
    return Entity(*wanted.after)


# --- actions ---


def _actions(evaluator: Evaluator, asked: Asked, wanted: Wanted, now: float) -> bytes:
    realm = evaluator.realm(asked.realm, asked.type, asked.id, asked.action)
    question, _ = evaluator.request(asked, realm, now)
    operations, privileges = (
        found(realm.matrix, question) for found in (operations_of, privileges_of)
    )
    names = sorted({*operations, *privileges})
    notes = by_itself(question.principal)
    return _page_of(names, wanted, lambda name: {"name": name}, notes)


def _page_of(
    names: Sequence[str],
    wanted: Wanted,
    result: Callable[[str], dict[str, str]],
    notes: Sequence[str],
) -> bytes:
    start = 0 if wanted.after is None else bisect_right(names, wanted.after[0])
    chosen = names[start : start + wanted.size]
    more = start + len(chosen) < len(names)
    last = chosen[-1:] or wanted.after
    results = [result(name) for name in chosen]
    return rendered(wanted, results, len(names), last, more=more, notes=notes)
