"""AuthZEN over workload W, from the bytes of a body to the bytes of the response, in process.

    python -m bench.authzen [--json] [--quick] [--no-rivals] [--save [FILE]]

Bodies of 1,000 questions and of one, each with a cold and a warm state. First, every answer is
compared with `Matrix.decide`. If one differs, the figures are void and the exit code is 1.
The cost of HTTP is measured elsewhere.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from bench import cedar
from bench.literal import Void
from bench.result import kept, machine, rounded
from bench.text import number, say, section
from bench.timing import interleaved, median, quantile, ratio, settle, stretch, timed
from lakewarden.http.authzen.dialect import AuthZen
from lakewarden.http.authzen.discovery import EVALUATION, EVALUATIONS
from lakewarden.http.exchange import Exchange, Handler, Services
from lakewarden.kernel.matrix import Matrix
from lakewarden.kernel.principal import SERVICE_ADMINS, USER, Principal
from lakewarden.kernel.relations import Facts, MembershipRow
from lakewarden.kernel.request import Request
from lakewarden.kernel.snapshot import compile
from lakewarden.kernel.statement_file import read_statements
from lakewarden.service.actor import Actor
from lakewarden.service.defaults import built_in
from lakewarden.service.realm import CONTROL, Realm
from lakewarden.service.row_preparation import prepare_rows
from lakewarden.service.state import People, RealmState, State
from lakewarden.service.system import System, load_system
from lakewarden.testing.workload import TABLES_W, Workload, draw, user

NOW = 1_000.0
OPERATION = "table.load"
QUESTIONS = 1_000
MUST_PER_S, AIM_PER_S = 0.5e6, 1.5e6
MUST_RATIO, AIM_RATIO = 30.0, 90.0
MUST_SINGLE_US, AIM_SINGLE_US = 15.0, 7.0

Pairs = Sequence[tuple[str, str]]
Json = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Asker:
    """A caller of the handlers over one state."""

    state: State
    actor: Actor
    handlers: Mapping[str, Handler]

    @staticmethod
    def over(state: State, name: str) -> Asker:
        """A caller with empty caches."""
        handlers = {route.path: route.handler for route in AuthZen().routes()}
        return Asker(state, Actor(name, credential="token:1"), handlers)

    def send(self, path: str, body: bytes) -> bytes:
        """The answer to a body."""
        exchange = Exchange(
            "POST",
            path,
            {},
            {},
            {},
            body,
            self.actor,
            CONTROL,
            self.state,
            NOW,
            None,  # type: ignore[arg-type]  # a question needs no plane
            _SERVICES,
        )
        reply = self.handlers[path](exchange)
        assert reply.status == 200
        return reply.body

    def fresh(self) -> Asker:
        """The same caller with empty caches, for its state as well."""
        return replace(self, handlers={r.path: r.handler for r in AuthZen().routes()})


_SERVICES = Services()


def state(workload: Workload) -> State:
    """W as the realm `gravitino`; `gate` may ask about anybody, `admin` sees everything."""
    system = load_system("gravitino")
    asking = {"id": "ask", "privileges": ["ASK"], "to": ["user:gate"], "on": "server:lakewarden"}
    guard = load_system("control")
    given = read_statements([asking], guard.model, guard.spelling, "statement")
    rights = Facts(
        memberships=[MembershipRow(Principal(USER, "admin"), SERVICE_ADMINS)],
        statements=(*built_in(guard), *given),
    )
    realms = {
        "gravitino": _realm("gravitino", system, workload.facts()),
        "cdap": _realm("cdap", load_system("cdap"), Facts()),
        "datahub": _realm("datahub", load_system("datahub"), Facts()),
        CONTROL: _realm(CONTROL, guard, rights),
    }
    return State(revision=1, realms=realms)


def _realm(name: str, system: System, facts: Facts) -> RealmState:
    matrix = Matrix(compile(facts, system.model, system.spelling, now=NOW, revision=1))
    return RealmState(Realm(name, system.model.name), system, matrix, People())


def mixed(pairs: Pairs) -> bytes:
    """A body in which each question has its own subject."""
    items = [
        {"subject": {"type": "user", "id": who}, "resource": {"type": "table", "id": what}}
        for who, what in pairs
    ]
    return _body({"action": {"name": OPERATION}, "evaluations": items})


def of_one(who: str, tables: Sequence[str]) -> bytes:
    """A body about one subject."""
    items = [{"resource": {"type": "table", "id": what}} for what in tables]
    subject = {"type": "user", "id": who}
    return _body({"subject": subject, "action": {"name": OPERATION}, "evaluations": items})


def single(who: str, what: str) -> bytes:
    """The body of one evaluation."""
    return _body(
        {
            "subject": {"type": "user", "id": who},
            "action": {"name": OPERATION},
            "resource": {"type": "table", "id": what},
        }
    )


def _body(members: Json) -> bytes:
    return json.dumps(members, separators=(",", ":")).encode()


def questions(workload: Workload) -> Pairs:
    """The queries of W, as names."""
    return [(user(u).name, workload.entity(node).name) for u, node in workload.queries]


def bodies(pairs: Pairs) -> dict[str, list[tuple[bytes, Pairs]]]:
    """Bodies of 1,000 questions by kind, each with its questions."""
    parts = [pairs[at : at + QUESTIONS] for at in range(0, len(pairs) - QUESTIONS + 1, QUESTIONS)]
    found: dict[str, list[tuple[bytes, Pairs]]] = {"mixed": [], "of_one": []}
    for part in parts:
        found["mixed"].append((mixed(part), part))
        who = part[0][0]
        about = [(who, what) for _, what in part]
        found["of_one"].append((of_one(who, [what for _, what in part]), about))
    return found


def check(asker: Asker, matrix: Matrix, body: bytes, pairs: Pairs) -> None:
    """Compares an evaluations body with the matrix; raises `Void`."""
    answers = [one["decision"] for one in json.loads(asker.send(EVALUATIONS, body))["evaluations"]]
    if answers != [_decided(matrix, *pair) for pair in pairs]:
        raise Void("an evaluations body is answered wrongly")


def _decided(matrix: Matrix, who: str, what: str) -> bool:
    target = load_system("gravitino").entity(f"table:{what}")
    return matrix.decide(Request(Principal(USER, who), OPERATION, target, NOW)).allow


def _taken(calls: Iterable[tuple[Asker, str, bytes]]) -> list[float]:
    """Seconds of each call."""
    taken = []
    with stretch():
        for asker, path, body in calls:
            start = time.perf_counter()
            asker.send(path, body)
            taken.append(time.perf_counter() - start)
    return taken


def measured(*, quick: bool, rivals: bool) -> Json:
    """All figures; raises `Void`."""
    say("building W")
    workload = draw(TABLES_W)
    world = state(workload)
    matrix = world.realm("gravitino").matrix
    pairs = questions(workload)
    result: Json = {}
    rounds = 3 if quick else 15
    found = bodies(pairs)
    for name in ("gate", "admin"):
        asker = Asker.over(world, name)
        for kind, sent in found.items():
            say(f"bodies {kind} by {name}")
            for body, about in sent:
                check(asker, matrix, body, about)
            settle()
            texts = [body for body, _ in sent]
            warm = _taken((asker, EVALUATIONS, text) for text in texts * rounds)
            cold = _taken([(asker.fresh(), EVALUATIONS, text) for text in texts])
            result[f"{kind}_{name}_per_s"] = QUESTIONS / median(warm)
            result[f"{kind}_{name}_ms_p99"] = quantile(warm, 0.99) * 1e3
            result[f"{kind}_{name}_cold_per_s"] = QUESTIONS / median(cold)
    short = [_short(body) for body, _ in found["mixed"]]
    asker = Asker.over(world, "gate")
    _taken((asker, EVALUATIONS, text) for text in short)
    brief = _taken((asker, EVALUATIONS, text) for text in short * rounds)
    result["mixed_short_per_s"] = QUESTIONS / median(brief)
    result |= _singles(Asker.over(world, "gate"), matrix, pairs)
    result |= _first(workload, pairs)
    result["cedarpy_per_s"] = result["ratio_vs_cedarpy"] = None
    if rivals:
        texts = [body for body, _ in found["mixed"]]
        result |= _beside_cedar(workload, Asker.over(world, "gate"), texts, rounds)
    figures: Json = rounded({**result, "targets": _judged(result), **machine()})
    return figures


def _beside_cedar(workload: Workload, asker: Asker, texts: list[bytes], rounds: int) -> Json:
    """All queries in bodies, alternating with Cedar's batch without bodies."""
    say("bodies beside Cedar")
    rival = cedar.Cedar.load(workload)
    settle()
    for text in texts:
        asker.send(EVALUATIONS, text)
    takers = {
        "ours": lambda: sum(_taken((asker, EVALUATIONS, text) for text in texts)),
        "cedarpy": lambda: timed(rival.batch)[1],
    }
    seconds = interleaved(max(rounds // 3, 1), takers)
    return {
        "cedarpy_per_s": QUESTIONS * len(texts) / median(seconds["cedarpy"]),
        "ratio_vs_cedarpy": ratio(seconds["cedarpy"], seconds["ours"]),
    }


def _singles(asker: Asker, matrix: Matrix, pairs: Pairs) -> Json:
    say("single evaluations")
    sent = [single(*pair) for pair in pairs]
    for body, pair in zip(sent, pairs, strict=True):
        if json.loads(asker.send(EVALUATION, body))["decision"] is not _decided(matrix, *pair):
            raise Void("an evaluation is answered wrongly")
    settle()
    own = [single("ana-of-nowhere", what) for _, what in pairs]
    self_asking = Asker.over(asker.state, "ana-of-nowhere")
    _taken((self_asking, EVALUATION, body) for body in own)
    taken = _taken((asker, EVALUATION, body) for body in sent)
    oneself = _taken((self_asking, EVALUATION, body) for body in own)
    return {
        "single_us_p50": median(taken) * 1e6,
        "single_us_p99": quantile(taken, 0.99) * 1e6,
        "own_us_p50": median(oneself) * 1e6,
    }


def _short(body: bytes) -> bytes:
    """The body with a request for short answers."""
    return json.dumps({**json.loads(body), "context": {"answer": "short"}}).encode()


def _first(workload: Workload, pairs: Pairs) -> Json:
    """The first 10,000 questions of a state with precomputed rows, compared with later ones."""
    say("first questions")
    sent = [single(*pair) for pair in pairs[:10_000]]
    world = state(workload)
    for _ in prepare_rows(lambda: world):
        pass
    asker = Asker.over(world, "gate")
    first = sum(_taken((asker, EVALUATION, body) for body in sent))
    later = sum(_taken((asker, EVALUATION, body) for body in sent))
    return {"first_us_mean": first / len(sent) * 1e6, "later_us_mean": later / len(sent) * 1e6}


def _judged(result: Mapping[str, Any]) -> Json:
    rate, single_us = result["mixed_gate_per_s"], result["single_us_p50"]
    against = result["ratio_vs_cedarpy"]
    return {
        "P6": {"must": MUST_PER_S, "aim": AIM_PER_S, "value": rate, "met": rate >= MUST_PER_S},
        "P6.cedarpy": {
            "must": MUST_RATIO,
            "aim": AIM_RATIO,
            "value": result["ratio_vs_cedarpy"],
            "met": None if against is None else against >= MUST_RATIO,
        },
        "P9.added": {
            "must": MUST_SINGLE_US,
            "aim": AIM_SINGLE_US,
            "value": single_us,
            "met": single_us <= MUST_SINGLE_US,
        },
    }


def table(result: Mapping[str, Any]) -> str:
    """The result as readable text."""
    figures = {
        k: v
        for k, v in result.items()
        if k.endswith(("_per_s", "_p50", "_p99", "_mean", "_vs_cedarpy"))
    }
    lines = [
        f"AuthZEN over workload W, {result['date']}: {result['machine']},"
        f" {result['cores']} cores, load {result['load'][0]}, Python {result['python']}",
        *section("bytes to bytes, one core", figures),
        "",
        "targets",
    ]
    for id, target in result["targets"].items():
        verdict = {True: "met", False: "MISSED", None: "–"}[target["met"]]
        lines.append(
            f"  {id:<12}{verdict:<7}{number(target['value']):>14} of {number(target['must']):>10}"
        )
    return "\n".join(lines)


def main(given: Sequence[str] | None = None) -> int:
    """Measures, prints and saves the result; returns the exit code."""
    assert __doc__ is not None
    parser = argparse.ArgumentParser(
        prog="python -m bench.authzen", description=__doc__.partition("\n")[0]
    )
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    parser.add_argument("--quick", action="store_true", help="fewer rounds")
    parser.add_argument("--no-rivals", action="store_true", help="leave Cedar out")
    parser.add_argument("--save", nargs="?", const="", metavar="FILE", help="keep the result")
    options = parser.parse_args(given)
    try:
        rivals = not options.no_rivals and cedar.is_installed()
        result = measured(quick=options.quick, rivals=rivals)
    except Void as reason:
        say(f"void: {reason}")
        if options.json:
            print(json.dumps({"void": str(reason)}))
        return 1
    if options.save is not None:
        say(f"kept in {kept(result, 'authzen', options.save)}")
    print(json.dumps(result) if options.json else table(result))
    return 0


if __name__ == "__main__":
    sys.exit(main())
