"""Searches over several realms of a directory at once: `context.realms`.

    context.realms    ["lake", "hub"], or "*" for every realm in which the caller may ask

The standard leaves the contents of a context to the two sides, and allows additional members in
results and answers: a subject or action in the results lists in `properties.realms` where the
answer is yes, a resource has its realm in `properties.realm`, as in a question about it. The
answer's `context` names the realms of the search, those to which the question does not apply with
the reason, and those that were left out because the caller may not ask there.

The question is about the resource and all entities linked to it (`service.cross_realm`). An action
may also be `see`, `read` or `change`: each realm uses its model's definition of these.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Final, TypeGuard

import msgspec

from lakewarden.http.authzen import name_resolution, request_context
from lakewarden.http.authzen.errors import Forbidden
from lakewarden.http.authzen.evaluator import Evaluator
from lakewarden.http.authzen.paging import REFUSED, PageRequest
from lakewarden.http.authzen.question import Question
from lakewarden.http.exchange import Exchange
from lakewarden.kernel.entity import NO_RESOURCE, Entity
from lakewarden.kernel.errors import BadInput, Unknown
from lakewarden.kernel.listing import listing, page_of
from lakewarden.kernel.model import WAYS
from lakewarden.kernel.principal import GROUP, ROLE, USER, Principal
from lakewarden.kernel.privileges import operations_of, privileges_of
from lakewarden.kernel.request import Request
from lakewarden.service import cross_realm
from lakewarden.service.cancellation import checked
from lakewarden.service.control import Denied
from lakewarden.service.cross_realm import InapplicableRealm, RealmQuestion
from lakewarden.service.realm_selection import May, RealmSelection, right, selected_realms
from lakewarden.service.state import RealmState

EVERY: Final = "*"
"""The value that stands for all realms."""

Who = Callable[[RealmState, Request], Iterable[str]]
"""The names of the stored principals of the question's kind for whom the answer is yes."""


def group_search_notes(kind: str) -> tuple[str, ...]:
    """What is left out of a search for groups or roles; empty for users."""
    if kind == USER:
        return ()
    return (
        f"each {kind} is evaluated by itself: the other access of its members"
        " (membership, other groups, roles, ownership) is not counted",
    )


def realms_of(question: Question) -> list[str] | None:
    """The realms that the context names, empty for all; None: the question is to one realm."""
    realms = question.context.get("realms")
    if realms is None:
        return None
    if realms == EVERY:
        return []
    if _is_list(realms):
        names = [each for each in realms if isinstance(each, str) and each]
        if names and len(names) == len(realms):
            return names
    raise BadInput(f'expected names of realms, or "{EVERY}"', where="context.realms")


def _is_list(value: object) -> TypeGuard[list[object]]:
    return isinstance(value, list)


class CrossRealmSearch:
    """One search of one caller over several realms."""

    def __init__(
        self, exchange: Exchange, evaluator: Evaluator, question: Question, names: list[str]
    ) -> None:
        self._exchange = exchange
        self._evaluator = evaluator
        self._question = question
        self._names = names or None
        self._silent: list[InapplicableRealm] = []
        self._selection = RealmSelection((), (), frozenset())

    def _choose(self, may: May, operation: str) -> RealmSelection:
        """The realms of the search; raises `Forbidden` if there are none."""
        exchange = self._exchange
        prefix = self._evaluator.prefix
        if prefix is not None and self._names != [prefix]:
            raise Forbidden(f"below `/r/{prefix}` no other realm can be queried")
        state, actor, now = exchange.state, exchange.actor, exchange.now
        selection = selected_realms(state, actor, self._names, now, may, operation)
        if isinstance(selection, Denied):
            raise Forbidden("no realm answers this request for you")
        self._selection = selection
        return selection

    def _units(self, selection: RealmSelection, action: str) -> list[RealmQuestion]:
        """The question's parts, about the resource and its linked entities."""
        question = self._question
        is_none = question.type == question.id == name_resolution.PLATFORM
        text = None if is_none else f"{question.type}:{question.id}"
        spread = cross_realm.split_by_realm(
            self._exchange.state, selection, action, text, question.realm
        )
        self._silent = list(spread.silent)
        return list(spread.units)

    def _realm(self, name: str) -> RealmState:
        return self._exchange.state.realm(name)

    # --- subjects ---

    def subjects(self, page: PageRequest, subjects_of: Who) -> bytes:
        """The subjects who may do the action in any of the realms."""
        question, exchange = self._question, self._exchange
        if question.kind not in (USER, GROUP, ROLE):
            raise Unknown("subject type", question.kind)
        search = "subject.search"
        may = right(exchange.state, exchange.actor, exchange.now, search)
        realms_by_person: dict[str, set[str]] = {}
        for unit in checked(self._units(self._choose(may, search), question.action), every=1):
            realm = self._realm(unit.realm)
            trusted = self._evaluator.caller.may("decision.ask", unit.realm, exchange.now)
            request = Request(
                Principal(question.kind, ""),
                unit.operation,
                unit.entity or NO_RESOURCE,
                exchange.now,
            )
            request = request_context.with_parts(
                request, question, realm, trusted=trusted, groups=()
            )
            for name in subjects_of(realm, request):
                person = cross_realm.person(realm.system, Principal(question.kind, name))
                realms_by_person.setdefault(person, set()).add(unit.realm)
        return self._named(realms_by_person, page, lambda name: {"type": question.kind, "id": name})

    # --- resources ---

    def resources(self, page: PageRequest) -> bytes:
        """The entities of the type on which the subject may do the action, realm by realm."""
        question, now = self._question, self._exchange.now
        chosen = self._choose(self._may_ask, "decision.ask")
        start = _place(page)
        total, results, last, more = 0, list[dict[str, object]](), start, False
        for name in chosen.realms:
            realm = self._realm(name)
            operation = self._operation(realm, question.type)
            if operation is None:
                continue
            request = self._request(realm, operation, NO_RESOURCE, now)
            ids = listing(realm.matrix, request, type=question.type, each=checked)
            total += len(ids)
            room = page.size - len(results)
            if start is not None and name < start[0]:
                continue
            after = None
            if start is not None and name == start[0]:
                after = name_resolution.place(realm, start[1])
            listed = page_of(realm.matrix, ids, max(room, 1), after)
            entities = listed.entities[:room]
            more = more or listed.after is not None or len(entities) < len(listed.entities)
            for entity in entities:
                about = {"realm": name}
                results.append({"type": entity.type, "id": entity.name, "properties": about})
                last = (name, entity)
        place = None if last is None else (last[0], *last[1])
        return self._rendered(page, results, total, place, more=more)

    def _operation(self, realm: RealmState, type: str) -> str | None:
        """The realm's operation for the action on such entities; None if there is none."""
        model, action = realm.system.model, self._question.action
        try:
            model.check_type(type)
            if action not in WAYS:
                realm.matrix.operation(action).rule(type)
                return action
            operation = model.reaching(action, type)
            if operation is None:
                raise Unknown("operation or privilege", action)
        except Unknown as error:
            self._silent.append(InapplicableRealm(realm.realm.name, str(error)))
            return None
        return operation

    # --- actions ---

    def actions(self, page: PageRequest) -> bytes:
        """The actions that a subject may do on the resource and on linked ones, in any realm."""
        state, now = self._exchange.state, self._exchange.now
        chosen = self._choose(self._may_ask, "decision.ask")
        question = self._question
        targets = cross_realm.targets(
            state, chosen, f"{question.type}:{question.id}", question.realm
        )
        realms_by_action: dict[str, set[str]] = {}
        for asset in checked(targets, every=1):
            if asset.realm in chosen.realms:
                realm = self._realm(asset.realm)
                request = self._request(realm, "", asset.entity, now)
                names = (of(realm.matrix, request) for of in (operations_of, privileges_of))
                for name in (name for part in names for name in part):
                    realms_by_action.setdefault(name, set()).add(asset.realm)
        return self._named(realms_by_action, page, lambda name: {"name": name})

    # --- what these share ---

    def _may_ask(self, realm: str) -> bool:
        """Whether the caller may ask the realm about the subject."""
        question, caller, now = self._question, self._evaluator.caller, self._exchange.now
        if caller.may("decision.ask", realm, now):
            return True
        state = self._exchange.state.realms.get(realm)
        if state is None or not caller.may("decision.ask_own", realm, now):
            return False
        try:
            return name_resolution.principal(state, question.kind, question.who) == caller.own(
                state
            )
        except Unknown:
            return False

    def _request(self, realm: RealmState, operation: str, on: Entity, now: float) -> Request:
        question, caller = self._question, self._evaluator.caller
        principal = name_resolution.principal(realm, question.kind, question.who)
        groups = caller.groups if principal == caller.own(realm) else ()
        trusted = caller.may("decision.ask", realm.realm.name, now)
        request = Request(principal, operation, on, now)
        return request_context.with_parts(request, question, realm, trusted=trusted, groups=groups)

    def _named(
        self,
        realms_by_name: Mapping[str, set[str]],
        page: PageRequest,
        result: Callable[[str], Mapping[str, str]],
    ) -> bytes:
        names = sorted(realms_by_name)
        start = 0 if page.after is None else bisect_right(names, page.after[0])
        chosen = names[start : start + page.size]
        results = [
            {**result(name), "properties": {"realms": sorted(realms_by_name[name])}}
            for name in chosen
        ]
        more = start + len(chosen) < len(names)
        last = chosen[-1:] or page.after
        return self._rendered(page, results, len(names), last, more=more)

    def _rendered(
        self,
        page: PageRequest,
        results: Sequence[object],
        total: int,
        last: Sequence[str] | None,
        *,
        more: bool,
    ) -> bytes:
        token = page.token(last) if more else ""
        silent = {realm.realm: realm.why for realm in self._silent}
        context: dict[str, object] = {
            "realms": [name for name in self._selection.realms if name not in silent],
            "silent": silent,
            "left_out": list(self._selection.left_out),
        }
        if notes := group_search_notes(self._question.kind):
            context["notes"] = list(notes)
        about = {"next_token": token, "count": len(results), "total": total}
        return msgspec.json.encode({"page": about, "context": context, "results": results})


def _place(page: PageRequest) -> tuple[str, Entity] | None:
    if page.after is None:
        return None
    if len(page.after) != 1 + len(NO_RESOURCE):
        raise BadInput(REFUSED, where="page.token")
    return page.after[0], Entity(*page.after[1:])
