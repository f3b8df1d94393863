"""Endless fresh random worlds: `python -m tests.agreement.fuzz --seconds 60`.

Every world is queried in every way, in one of the kernel's forms, and then changed step by step.
A disagreement is shrunk and printed; if it can be written as a scenario, it is saved with the
other scenarios, until it is understood. Exits 1 if there was one. `--seed` repeats a run; without
it, each run draws its own seed.
"""

from __future__ import annotations

import argparse
import random
import sys
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import count
from pathlib import Path

from lakewarden.kernel.errors import WardenError
from lakewarden.kernel.relations import Facts
from lakewarden.kernel.request import Request
from lakewarden.testing.questions import ask
from lakewarden.testing.scenario_text import scenario_text
from lakewarden.testing.shrinking import smallest
from lakewarden.testing.worlds import Size, World, make
from tests.agreement import harness
from tests.agreement.harness import SYSTEMS, WAYS, Disagreement, Step
from tests.oracle.oracle import Oracle

_SIZES = (
    harness.SMALL,
    Size(entities=24, users=6, groups=3, roles=3, statements=12, goals=8),
    Size(entities=45, users=12, groups=5, roles=5, statements=30, goals=16),
)
_TESTS = Path(__file__).parents[1]


def main(arguments: Sequence[str] | None = None) -> int:
    """Searches for the given time; returns the exit status."""
    parser = argparse.ArgumentParser(prog="python -m tests.agreement.fuzz", description=__doc__)
    parser.add_argument("--seconds", type=float, default=60, help="how long (default 60)")
    parser.add_argument("--worlds", type=int, help="at most so many worlds of each system")
    parser.add_argument("--seed", type=int, default=None, help="the first world's seed")
    parser.add_argument("--system", action="append", choices=SYSTEMS, help="only this system")
    parser.add_argument("--keep-going", action="store_true", help="do not stop at the first find")
    chosen = parser.parse_args(arguments)
    seed = random.SystemRandom().getrandbits(32) if chosen.seed is None else chosen.seed
    names = chosen.system or SYSTEMS
    print(f"random worlds from --seed {seed}: {', '.join(names)}", flush=True)
    until = time.monotonic() + chosen.seconds
    worlds: Counter[str] = Counter()
    found = 0
    for _ in count() if chosen.worlds is None else range(chosen.worlds):
        if time.monotonic() >= until or (found and not chosen.keep_going):
            break
        for name in names:
            disagreement = first(name, seed)
            worlds[name] += 1
            if disagreement is not None:
                found += 1
                _report(name, seed, disagreement)
        seed += 1
    print(", ".join(f"{name}: {n} worlds" for name, n in worlds.items()))
    print(f"{found} disagreement(s)")
    return 1 if found else 0


def first(name: str, seed: int) -> Disagreement | None:
    """The first disagreement about the world of the seed, if there is one."""
    return next(every(name, seed), None)


def every(name: str, seed: int) -> Iterator[Disagreement]:
    """All disagreements about the world of the seed, in the form that the seed chooses."""
    world, form = drawn(name, seed)
    requests = ask(world, seed, 30)
    with harness.form(form):
        now = harness.compiled_world(world, requests)
        for way in WAYS:
            yield from way(now)
        yield from harness.walked(world, requests, harness.drawn(world, seed, 4))


def drawn(name: str, seed: int) -> tuple[World, str]:
    """The world of the seed, and the form in which it is compiled."""
    rng = random.Random(seed)
    size = rng.choices(_SIZES, (6, 3, 1))[0]
    form = harness.FORMS[0] if rng.random() < 0.6 else rng.choice(harness.FORMS)
    return make(harness.system(name), seed, size), form


# --- handling of a disagreement ---


def shrunk(name: str, seed: int, found: Disagreement) -> tuple[Facts, Request, tuple[Step, ...]]:
    """A shrunk world, request and history that still show a disagreement of the same kind."""
    world, form = drawn(name, seed)
    kind = found.how.split(" ")[0]
    way = next((w for w in WAYS if w.__name__ in _names(kind)), harness.decide)
    steps = found.steps

    def same(other: Disagreement) -> bool:
        crash = "crash" in (kind, other.how)
        return not crash or (other.how, other.got) == (found.how, found.got)

    def fails(facts: Facts, request: Request) -> bool:
        smaller = World(world.system, facts)
        try:
            with harness.form(form):
                fresh = harness.compiled_world(smaller, [request])
                if steps:
                    return any(map(same, harness.walked(smaller, [request], steps, [way])))
                return any(map(same, way(fresh)))
        except (WardenError, KeyError, LookupError):
            return False

    request = found.request
    if not fails(world.facts, request):
        return world.facts, request, steps
    facts, request = smallest(world.facts, request, fails)
    for step in tuple(steps):
        fewer = tuple(s for s in steps if s is not step)
        before, steps = steps, fewer
        if not fewer or not fails(facts, request):
            steps = before
    return (*smallest(facts, request, fails), steps)


def _names(kind: str) -> tuple[str, ...]:
    """The ways that report this kind of disagreement."""
    return {
        "count": ("listing",),
        "pages": ("listing",),
        "who": ("people",),
        "explain": ("explained",),
    }.get(kind, (kind,))


def report(name: str, seed: int, found: Disagreement) -> tuple[str, str]:
    """The disagreement as text, and the shrunk world as the text of a scenario."""
    facts, request, steps = shrunk(name, seed, found)
    system = harness.system(name)
    allowed = Oracle(facts, system.model, system.spelling).check(request)
    title = f"{found.how.split(' ')[0]}, seed {seed}"
    text = scenario_text(system, facts, request, allowed=allowed, title=title)
    after = "".join(f"\n# then {made or 'nothing'}, at {now}" for made, now in steps)
    return f"{name}, seed {seed}\n{found}", text + after


def _report(name: str, seed: int, found: Disagreement) -> None:
    words, text = report(name, seed, found)
    print(f"\n{words}\n\n{text}", flush=True)
    if not found.steps:
        print(f"saved as {save(name, seed, text)}")


def save(name: str, seed: int, text: str) -> Path:
    """Writes the scenario where the tests find it."""
    made_up = name.startswith("everything")
    folder = _TESTS / ("agreement" if made_up else "scenarios") / "regressions"
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{name}_{seed}.toml"
    path.write_text(text, "utf-8")
    return path


if __name__ == "__main__":
    sys.exit(main())
