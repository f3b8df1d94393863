"""Search over a million datasets: pages filtered by access, compared with unfiltered pages.

    python -m bench.search [--engine sqlite|postgres] [--datasets N] [--save [FILE]]

Each of a hundred domains has a hundredth of the datasets; three users may view the datasets of one
domain, of 25, and of all. Each user searches for `*`, for a word in a twentieth of the names, and
for a word in a hundredth of the descriptions: the first page with total and facets, as a GraphQL
document, with view authorization on and off in turns. With it off, everything is found and counted.
Before every search, the cached results of the store are dropped.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

from bench.memory import resident_mib
from bench.result import kept, machine, rounded
from bench.start import fresh_store
from bench.text import say
from bench.timing import interleaved, latencies, median, quantile, ratio, settle, timed
from lakewarden.http.exchange import Exchange, Handler, Services
from lakewarden.kernel.change import EntityAdded, RelationChanged, StatementAdded
from lakewarden.kernel.entity import Entity
from lakewarden.kernel.principal import USER, Principal
from lakewarden.kernel.relations import RelationRow
from lakewarden.kernel.statement import Condition, Criterion, Effect, Statement, Where
from lakewarden.service.actor import SYSTEM, Actor
from lakewarden.service.decision_service import DecisionService
from lakewarden.service.effect import DocumentChanged, RealmChanged
from lakewarden.service.effect import Effect as Change
from lakewarden.service.realm import Realm
from lakewarden.service.write_transaction import WriteTransaction
from lakewarden.store import SqlStore, open_store
from lakewarden.systems.datahub.http.graphql.routes import routes
from lakewarden.systems.datahub.search.index import Index
from lakewarden.systems.datahub.settings import DataHubSettings

REALM: Final = "datahub"
DATASETS: Final = 1_000_000
DOMAINS: Final = 100
DESCRIBED: Final = 10
"""One dataset in this many has a document, with a description."""

WORDS: Final = tuple(f"subject{number}" for number in range(20))
USERS: Final[Mapping[str, int]] = {"one": 1, "quarter": 25, "everything": DOMAINS}
QUERIES: Final[Mapping[str, str]] = {
    "all": "*",
    "name": "subject7",
    "description": "monthly",
}
GOAL: Final = 1.3
ROUNDS: Final = 15

DOCUMENT: Final = """
query search($query: String!) {
  searchAcrossEntities(input: {
    query: $query, types: [DATASET], start: 0, count: 50, searchFlags: {skipHighlighting: true}
  }) {
    total
    searchResults { entity { urn type } }
    facets { field aggregations { value count } }
  }
}
"""


def dataset(number: int) -> Entity:
    """One of the datasets."""
    word = WORDS[number % len(WORDS)]
    name = f"c{number % 20:02d}.s{number % 1000:03d}.{word}_t{number:07d}"
    return Entity("dataset", f"urn:li:dataset:(urn:li:dataPlatform:hive,{name},PROD)")


def domain(number: int) -> Entity:
    """One of the domains."""
    return Entity("domain", f"urn:li:domain:d{number:02d}")


def user(name: str) -> Principal:
    """One of the users."""
    return Principal(USER, f"urn:li:corpuser:{name}")


def estate(datasets: int) -> Iterator[list[Change]]:
    """The changes that create the estate, in parts."""
    realm = Realm(REALM, "datahub", settings={"bootstrap": "closed", "view_authorization": "on"})
    yield [RealmChanged(REALM, realm)]
    yield [EntityAdded(domain(number), None) for number in range(DOMAINS)]
    yield [EntityAdded(dataset(number), None) for number in range(datasets)]
    # Independent of the words, the schemas and the descriptions.
    yield [
        RelationChanged(RelationRow("domain", dataset(n), domain(n * 7919 // 64 % DOMAINS)), True)
        for n in range(datasets)
    ]
    yield [DocumentChanged(dataset(n), _body(n)) for n in range(0, datasets, DESCRIBED)]
    yield [StatementAdded(_policy(name, count)) for name, count in USERS.items()]


def _body(number: int) -> dict[str, Any]:
    how = "monthly" if number % (10 * DESCRIBED) == 0 else "daily"
    value = {"description": f"a {how} picture of what was sold, number {number}"}
    return {"aspects": {"datasetProperties": {"value": value, "system": {}, "created": {}}}}


def _policy(name: str, domains: int) -> Statement:
    values = tuple(domain(number).name for number in range(domains))
    criterion = Criterion("DOMAIN", Condition.EQUALS, values)
    privileges = frozenset({"VIEW_ENTITY_PAGE"})
    where = Where((criterion,))
    return Statement(f"see {name}", Effect.ALLOW, privileges, where, frozenset({user(name)}))


def written(store: SqlStore, datasets: int) -> float:
    """Writes the estate in one transaction; returns the seconds."""
    service = DecisionService(store)
    service.open()
    begun = time.perf_counter()
    with store.writing(late=True) as writing:
        transaction = WriteTransaction(SYSTEM, service.state, writing, time.time(), late=True)
        for part in estate(datasets):
            transaction.change(REALM, *part)
        writing.commit(transaction.events)
    return time.perf_counter() - begun


class Server:
    """The GraphQL of a server, without its socket."""

    def __init__(self, service: DecisionService) -> None:
        self._service = service
        self._handler: Handler = next(r.handler for r in routes() if r.path == "/api/graphql")

    def ask(self, name: str, query: str, view: bool) -> Mapping[str, Any]:
        """The response to the document, for a user, with view authorization on or off."""
        Index.of(self._service.state.realm(REALM).matrix.snapshot).remembered.clear()
        body = {"query": DOCUMENT, "variables": {"query": query}}
        options = DataHubSettings(existence=False, policies=view)
        exchange = Exchange(
            method="POST",
            path="/api/graphql",
            params={},
            query={},
            headers={},
            body=json.dumps(body).encode(),
            actor=Actor(name, credential="simple", wire="datahub"),
            realm=REALM,
            state=self._service.state,
            now=self._service.clock(),
            service=self._service,
            services=Services(systems={"datahub": options}),
        )
        answer: dict[str, Any] = json.loads(self._handler(exchange).body)
        assert "errors" not in answer, answer
        found: dict[str, Any] = answer["data"]["searchAcrossEntities"]
        return found


def measured(engine: str, datasets: int) -> dict[str, Any]:
    """The figures of one engine."""
    with fresh_store(engine) as url, open_store(url) as store:
        say(f"writing {datasets} datasets, {engine}")
        found: dict[str, Any] = {"datasets": datasets, "write_s": written(store, datasets)}
        before = resident_mib()
        service = DecisionService(store)
        _, found["ready_s"] = timed(service.open)
        server = Server(service)
        _, found["first_s"] = timed(lambda: server.ask("everything", "subject1", True))
        found["resident_mib"] = resident_mib() - before
        settle()
        for query in QUERIES:
            say(f"asking for {query}")
            found[query] = {name: _compared(server, name, query, datasets) for name in USERS}
    found["worst_ratio"] = max(found[query][name]["ratio"] for query in QUERIES for name in USERS)
    found["goal"] = GOAL
    found["met"] = found["worst_ratio"] <= GOAL
    return found


def _compared(server: Server, name: str, query: str, datasets: int) -> dict[str, Any]:
    """One search of one user, with and without view authorization."""
    text = QUERIES[query]
    guarded, plain = server.ask(name, text, True), server.ask(name, text, False)
    _check(guarded, plain, name, query, datasets)
    takers: dict[str, Callable[[], float]] = {
        "on": lambda: _took(server, name, text, view=True),
        "off": lambda: _took(server, name, text, view=False),
    }
    rounds = interleaved(ROUNDS, takers)
    return {
        "total": guarded["total"],
        "total_off": plain["total"],
        "on_ms_p50": median(rounds["on"]) / 1e6,
        "on_ms_max": quantile(rounds["on"], 1.0) / 1e6,
        "off_ms_p50": median(rounds["off"]) / 1e6,
        "ratio": ratio(rounds["on"], rounds["off"]),
    }


def _took(server: Server, name: str, text: str, *, view: bool) -> float:
    return latencies(server.ask, [(name, text, view)], warm=0)[0]


def _check(
    guarded: Mapping[str, Any], plain: Mapping[str, Any], name: str, query: str, datasets: int
) -> None:
    """Compares the totals with those computed from the definition of the estate."""
    fitting = [n for n in range(datasets) if _fits(n, query)]
    seen = [n for n in fitting if n * 7919 // 64 % DOMAINS < USERS[name]]
    assert plain["total"] == len(fitting), (plain["total"], len(fitting))
    assert guarded["total"] == len(seen), (guarded["total"], len(seen))
    (types,) = (facet for facet in guarded["facets"] if facet["field"] == "_entityType")
    assert sum(one["count"] for one in types["aggregations"]) == len(seen)


def _fits(number: int, query: str) -> bool:
    match query:
        case "name":
            return WORDS[number % len(WORDS)] == "subject7"
        case "description":
            return number % (10 * DESCRIBED) == 0
        case _:
            return True


def main() -> int:
    """Prints the result as JSON."""
    assert __doc__ is not None
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--engine", choices=["sqlite", "postgres"], action="append")
    parser.add_argument("--datasets", type=int, default=DATASETS)
    parser.add_argument("--save", nargs="?", const="")
    given = parser.parse_args()
    result: dict[str, Any] = machine()
    for engine in given.engine or ["sqlite", "postgres"]:
        result[engine] = measured(engine, given.datasets)
    result = rounded(result)
    print(json.dumps(result, indent=2))
    if given.save is not None:
        kept(result, "search", given.save)
    return 0


if __name__ == "__main__":
    sys.exit(main())
