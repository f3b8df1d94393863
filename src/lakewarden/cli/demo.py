"""`lakewarden demo`: the sample estate through the pipeline, and some questions to it."""

from __future__ import annotations

import os
import shlex
import sys
from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from lakewarden import __version__, sample
from lakewarden.cli import demo_engines, demo_push, demo_server
from lakewarden.cli.formatting import (
    entity_text,
    explanation,
    explanation_context,
    headline,
    principal_name,
    realm_text,
    some,
)
from lakewarden.cli.outcome import COULD_NOT_TELL, YES, note, show
from lakewarden.cli.pipeline.ingest_sources import source_of
from lakewarden.cli.pipeline.progress import shown
from lakewarden.cli.question import Realm, ask, realm_of
from lakewarden.config.defaults import HOST, PORT
from lakewarden.kernel.errors import BadInput
from lakewarden.kernel.explain import explain
from lakewarden.kernel.listing import page
from lakewarden.kernel.request import Reason
from lakewarden.kernel.who import who
from lakewarden.pipeline.directory import load
from lakewarden.pipeline.directory_manifest import read_manifest
from lakewarden.pipeline.ingest.exchange import SUFFIXES
from lakewarden.pipeline.ingest.files import find, inputs_of
from lakewarden.pipeline.java import cache_folder
from lakewarden.pipeline.session import session
from lakewarden.pipeline.version_folder import MANIFEST
from lakewarden.sample.part import Question, SamplePart

NAMES_SHOWN = 12
WITHOUT_SPARK = (
    "Spark is not installed; the sample is small enough to need none. It adds the jobs of"
    " `lakewarden pipeline` (index, review, people, diff, lint, unused, stream) and ingestion"
    " of large estates: pip install 'lakewarden[spark]'"
)


@Parameter("*")
@dataclass(frozen=True)
class Engines:
    """Engines that the demo starts; DuckDB runs in the demo's own process."""

    with_trino: Annotated[
        bool,
        Parameter(
            help="Show a real Trino, too; 821 MB are downloaded if it is not installed.",
            show_default=False,
        ),
    ] = False
    spark_gateway: Annotated[
        bool,
        Parameter(
            help="Start a Spark Connect server with `lakewarden gateway` in front of it.",
            show_default=False,
        ),
    ] = False
    push: Annotated[
        bool,
        Parameter(
            help="Push to a PostgreSQL of its own, change it by hand, and repair it.",
            show_default=False,
        ),
    ] = False


NO_ENGINES = Engines()


def demo(
    *,
    once: Annotated[
        bool,
        Parameter(
            help="Stop before serving.",
            show_default=False,
        ),
    ] = False,
    dir: Annotated[
        Path | None, Parameter(help="Directory for the realms; default: below the user's cache.")
    ] = None,
    host: Annotated[str, Parameter(help="Address on which the server listens.")] = HOST,
    port: Annotated[int, Parameter(help="Port of the server; 0 selects a free one.")] = PORT,
    engines: Engines = NO_ENGINES,
) -> int:
    """Ingests a sample company, answers questions about access, and serves it.

    The fictional company Quillmere has 60 people, 12 groups, and about 2,000 entities in Gravitino,
    DataHub and CDAP, with realistic policies and some mistakes. Realms that are up to date are
    reused. What three of the people see of a table with a row filter and a column mask is shown in
    DuckDB, and in the engines that are asked for.

    For example:

        lakewarden demo --once
    """
    folder = _created_folder(dir or default_folder())
    if engines.with_trino:
        demo_engines.ensure_trino()
    if engines.push:
        demo_push.require_postgresql()
    listening = None if once else demo_server.listen(folder, host, port)
    show("The sample estate: Quillmere, a fictional garden and home retailer.", "")
    parts = sample.parts()
    _ingest(folder, parts)
    read = {name: load(folder / name) for name in parts}
    for name, loaded in read.items():
        show(f"  {folder / name}", f"    {realm_text(loaded)}")
    realms = {name: realm_of(loaded) for name, loaded in read.items()}
    questions = [(name, question) for name, part in parts.items() for question in part.questions]
    answered = [
        _print_answer(number, question, folder / name, realms[name])
        for number, (name, question) in enumerate(questions, 1)
    ]
    _show_next(folder, parts)
    tokens = demo_server.load_store(folder, parts)
    if find_spec("pyspark") is None:
        note(WITHOUT_SPARK)
    if not all(answered):
        return COULD_NOT_TELL
    with ExitStack() as running:
        _show_engines(folder, parts, engines, running)
        if listening is not None:
            demo_server.serve(listening, tokens)
    return YES


def _show_engines(
    folder: Path, parts: Mapping[str, SamplePart], engines: Engines, running: ExitStack
) -> None:
    """Shows what users see in DuckDB, and in the engines that run as long as the demo."""
    realms = demo_engines.parts_of(parts)
    demo_engines.show_duckdb(folder, realms)
    if engines.with_trino:
        running.enter_context(demo_engines.running_trino(folder, realms))
    if engines.spark_gateway:
        running.enter_context(demo_engines.running_spark(folder, realms))
    if engines.push:
        running.enter_context(demo_push.running_postgresql(folder, realms))


def _created_folder(folder: Path) -> Path:
    """Creates the folder if it does not exist. Raises `BadInput` if it cannot be used."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        raise BadInput(f"cannot create the folder: {reason}", where=f"--dir {folder}") from None
    if not os.access(folder, os.W_OK | os.X_OK):
        raise BadInput("cannot be written to", where=f"--dir {folder}")
    return folder


def default_folder() -> Path:
    """The default folder of the realms; each release has its own."""
    return cache_folder() / f"demo-{__version__}"


def _ingest(folder: Path, parts: Mapping[str, SamplePart]) -> None:
    """Brings the realms up to date, and prints how long each took."""
    sources = {name: source_of(part.source, str(sample.path(name))) for name, part in parts.items()}
    old = [name for name, part in parts.items() if not _is_current(folder / name, part)]
    if not old:
        return
    from lakewarden.pipeline.ingest.run import ingest

    show(f"Reading exports of {some(old, len(old))} into {folder}:")
    sys.stdout.flush()
    with session("lakewarden demo") as spark:
        for name in old:
            with shown(name) as progress:
                product = ingest(
                    sources[name],
                    folder / name,
                    spark=spark,
                    settings=parts[name].settings,
                    progress=progress,
                )
            rows = sum(rows.passed for rows in product.report.rows.values())
            show(f"    {name}: {rows:,} rows in {product.report.took:.1f} s")
            sys.stdout.flush()
    show("")


def _is_current(directory: Path, part: SamplePart) -> bool:
    """Whether the directory was made from exactly these files, and is readable."""
    if not (directory / MANIFEST).exists():
        return False
    try:
        manifest = read_manifest(directory)
        return (
            list(manifest.inputs) == inputs_of(find(sample.DATA / part.path, SUFFIXES))
            and part.settings.items() <= manifest.settings.items()
            and bool(realm_of(load(directory)))
        )
    except BadInput:
        return False


def _print_answer(number: int, question: Question, directory: Path, realm: Realm) -> bool:
    """Prints a question and its answer; returns False if it could not be decided."""
    show("", f"{number}. {question.says}", f"   $ {question.command(directory)}")
    answers = {"explain": _explained, "who": _users, "list": _entities}
    lines = list(answers[question.verb](question, realm))
    show(*(f"   {line}" for line in lines))
    if question.remark:
        show(f"   → {question.remark}")
    return bool(lines)


def _explained(question: Question, realm: Realm) -> Iterator[str]:
    parsed = ask(realm, question.asker, question.operation, question.entity)
    explanation_of_check = explain(realm.matrix, parsed.request)
    if explanation_of_check.decision.reason is not Reason.ERROR:
        yield from explanation(explanation_of_check, explanation_context(parsed))


def _users(question: Question, realm: Realm) -> Iterator[str]:
    parsed = ask(realm, None, question.operation, question.entity)
    names = [principal_name(user) for user in sorted(who(realm.matrix, parsed.request))]
    yield f"{len(names)} users: {some(names, NAMES_SHOWN)}"


def _entities(question: Question, realm: Realm) -> Iterator[str]:
    parsed = ask(realm, question.asker, question.operation, None)
    first_page = page(realm.matrix, parsed.request, NAMES_SHOWN)
    yield f"{headline(parsed.request, True)} on {first_page.total}:"
    yield f"  {some([entity_text(entity) for entity in first_page.entities], NAMES_SHOWN)}"


def _show_next(folder: Path, parts: Mapping[str, SamplePart]) -> None:
    show("", "Next steps:")
    for name, part in parts.items():
        for command in part.commands:
            show(f"  lakewarden {shlex.join(command)} --from {shlex.quote(str(folder / name))}")
    show(f"  lakewarden operations --model {next(iter(parts))}")
