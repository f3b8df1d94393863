"""Completion: entities whose names have words that begin with those of a query."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from lakewarden.kernel.entity import Entity
from lakewarden.systems.datahub.http import view_authorization
from lakewarden.systems.datahub.http.graphql import authorization
from lakewarden.systems.datahub.http.graphql.call import Call
from lakewarden.systems.datahub.http.graphql.kinds import type_word
from lakewarden.systems.datahub.http.graphql.resolving import Info, Resolvers
from lakewarden.systems.datahub.http.graphql.search.inputs import page_bounds, question
from lakewarden.systems.datahub.http.searching import SearchSession, search_session
from lakewarden.systems.datahub.search.question import Question

Shown = dict[str, Any]


def _complete(_: object, info: Info, input: Mapping[str, Any]) -> Shown:
    call: Call = info.context
    _, limit = page_bounds(call, input, "limit")
    type = input.get("type")
    search_question = question(call, input, None if type is None else [type], named=True)
    with search_session(call.exchange, view_authorization.hits) as session:
        return {"query": input["query"], **_completion(call, session, search_question, limit)}


def _complete_multiple(_: object, info: Info, input: Mapping[str, Any]) -> Shown:
    call: Call = info.context
    _, limit = page_bounds(call, input, "limit")
    search_question = question(call, input, input.get("types"), named=True)
    suggestions = []
    with search_session(call.exchange, view_authorization.hits) as session:
        for type in search_question.types:
            own = Question(
                search_question.query,
                (type,),
                search_question.filters,
                (),
                search_question.removed,
                named=True,
            )
            completion = _completion(call, session, own, limit)
            if completion["entities"]:
                suggestions.append({"type": type_word(Entity(type, ""), info), **completion})
    return {"query": input["query"], "suggestions": suggestions}


def _completion(call: Call, session: SearchSession, search_question: Question, limit: int) -> Shown:
    page = session.search(search_question).page(0, limit)
    entities = authorization.visible(call, page.entities)
    call.add_group(entities)
    tree = session.index.tree
    ids = [id for id in map(tree.find, entities) if id is not None]
    names = session.names(ids) if ids else {}
    return {"suggestions": list(dict.fromkeys(names[id] for id in ids)), "entities": entities}


RESOLVERS: Final[Resolvers] = {
    "Query": {
        "autoComplete": _complete,
        "autoCompleteForMultiple": _complete_multiple,
    }
}
