"""`lakewarden demo`: the sample estate through the pipeline, and some questions to it."""

from __future__ import annotations

import os
import shlex
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Final

from cyclopts import Parameter

from lakewarden import __version__, sample
from lakewarden.cli import demo_server
from lakewarden.cli.formatting import (
    entity_text,
    explanation,
    headline,
    principal_name,
    realm_text,
    some,
    told,
)
from lakewarden.cli.outcome import COULD_NOT_TELL, YES, show
from lakewarden.cli.pipeline.ingest_sources import source_of
from lakewarden.cli.pipeline.progress import shown
from lakewarden.cli.question import Realm, ask, realm_of
from lakewarden.kernel.errors import BadInput
from lakewarden.kernel.explain import explain
from lakewarden.kernel.listing import page
from lakewarden.kernel.request import Reason
from lakewarden.kernel.who import who
from lakewarden.pipeline.directory import load
from lakewarden.pipeline.directory_manifest import read_manifest
from lakewarden.pipeline.ingest.exchange import SUFFIXES
from lakewarden.pipeline.ingest.files import find, inputs_of
from lakewarden.pipeline.ingest.source import Source
from lakewarden.pipeline.session import session
from lakewarden.pipeline.version_folder import MANIFEST

NAMES_SHOWN = 12

_LAKE = "table:quillmere:lake."
_DATASET = "urn:li:dataset:(urn:li:dataPlatform:iceberg,{},PROD)"


@dataclass(frozen=True, slots=True)
class Question:
    """A question to one realm; `says` puts it in words, `remark` what to learn from it."""

    realm: str
    verb: str
    says: str
    asker: str
    operation: str
    entity: str
    remark: str = ""

    def command(self, folder: Path) -> str:
        """The command line that asks it."""
        words = [self.verb, self.asker, self.operation, self.entity]
        given = [shlex.quote(word) for word in words if word]
        return " ".join(["lakewarden", *given, "--from", shlex.quote(str(folder / self.realm))])


QUESTIONS: Final = (
    Question(
        "gravitino",
        "explain",
        "May Ana, a controller, read the invoices?",
        "ana",
        "table.load",
        f"{_LAKE}finance.invoices",
        "Every container on the way asks for its own privilege; Ana has all of them"
        " through her group.",
    ),
    Question(
        "gravitino",
        "explain",
        "Hugo owns the sales forecasts. May he alter them?",
        "hugo",
        "table.alter",
        f"{_LAKE}sales.forecasts",
        "Owning a table does not help against a DENY on its schema, and a DENY beats every ALLOW.",
    ),
    Question(
        "gravitino",
        "who",
        "Who may read the salaries?",
        "",
        "table.load",
        f"{_LAKE}people.salaries",
        "Paul and Rita of audit: their role `reporting` may select every table of the metalake.",
    ),
    Question(
        "datahub",
        "explain",
        "May Ella of customer care see the customers' profiles, which are personal data?",
        "ella",
        "entity.read",
        _DATASET.format("lake.customers.profiles"),
        "One policy goes by domain and tag, the other by ownership of her group.",
    ),
    Question(
        "datahub",
        "explain",
        "Pia looks after the orders as their custodian. May she edit them?",
        "pia",
        "entity.update",
        _DATASET.format("lake.sales.orders"),
        "The policy `custodians-edit` was meant for her, but its list of ownership types is"
        " empty: it matches no owner at all.",
    ),
    Question(
        "datahub",
        "who",
        "Who may see a copy of the salaries that somebody left in a scratch schema?",
        "",
        "entity.read",
        _DATASET.format("scratch.salaries_copy"),
        "All of sales: `not-people` excludes the domain of people's data, and the copy is in"
        " no domain.",
    ),
    Question(
        "cdap",
        "explain",
        "May Paul, an auditor, read the salaries' dataset?",
        "paul",
        "dataset.read",
        "dataset:people.salaries",
        "The wildcard was meant for the books and covers every dataset of every namespace.",
    ),
    Question(
        "cdap",
        "explain",
        "Igor administers the namespace supply. May he change its dataset stock?",
        "igor",
        "dataset.update",
        "dataset:supply.stock",
        "Nothing is inherited here: ADMIN on a namespace is ADMIN on the namespace alone.",
    ),
    Question(
        "cdap",
        "list",
        "Which namespaces does Milo, a contractor, get to see?",
        "milo",
        "namespace.list.filter",
        "",
        "A privilege on anything inside makes the namespace visible, even one on a misspelt name.",
    ),
)
"""Three questions to each realm: an allow, a deny that surprises, and who or what."""

_SOURCES: Final[Mapping[str, Path]] = {
    "gravitino": sample.GRAVITINO,
    "datahub": sample.DATAHUB,
    "cdap": sample.CDAP,
}


SETTINGS: Final[Mapping[str, Mapping[str, str]]] = {"datahub": {"view_authorization": "on"}}
"""The settings of the realms that are not as their models have them."""


def demo(
    *,
    once: Annotated[
        bool,
        Parameter(
            help="Ask the questions and stop, without a server.",
            show_default=False,
        ),
    ] = False,
    dir: Annotated[
        Path | None, Parameter(help="Where to put the realms; default: below the user's cache.")
    ] = None,
    host: Annotated[str, Parameter(help="Address for the server to listen on.")] = "127.0.0.1",
    port: Annotated[int, Parameter(help="Port of the server; 0 takes a free one.")] = 8787,
) -> int:
    """Ingests a sample company, asks who may do what, and why, and serves it.

    Quillmere does not exist: 60 people, 12 groups, and about 2,000 entities in Gravitino,
    DataHub and CDAP, with believable policies and some mistakes in them. Realms that are up
    to date are taken as they are, so that the second time is quick.

    For example:

        lakewarden demo --once
    """
    folder = _made(dir or default_folder())
    listening = None if once else demo_server.listen(folder, host, port)
    show("The sample estate: Quillmere, a garden and home retailer that does not exist.", "")
    _ingest(folder)
    read = {name: load(folder / name) for name in _SOURCES}
    for name, loaded in read.items():
        show(f"  {folder / name}", f"    {realm_text(loaded)}")
    realms = {name: realm_of(loaded) for name, loaded in read.items()}
    told = [_tell(number, question, folder, realms) for number, question in enumerate(QUESTIONS, 1)]
    _show_next(folder)
    tokens = demo_server.bring(folder, _SOURCES)
    if not all(told):
        return COULD_NOT_TELL
    if listening is not None:
        demo_server.serve(listening, tokens)
    return YES


def _made(folder: Path) -> Path:
    """The folder, which is made if it is not there. Raises `BadInput` where nothing can be kept."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        raise BadInput(f"cannot be made a folder: {reason}", where=f"--dir {folder}") from None
    if not os.access(folder, os.W_OK | os.X_OK):
        raise BadInput("cannot be written to", where=f"--dir {folder}")
    return folder


def default_folder() -> Path:
    """Where the realms are when nobody says otherwise; another place for each release."""
    base = Path(os.environ.get("XDG_CACHE_HOME", ""))
    cache = base if base.is_absolute() else Path.home() / ".cache"
    return cache / "lakewarden" / f"demo-{__version__}"


def _ingest(folder: Path) -> None:
    """Brings the three realms up to date, and says of each how long that took."""
    sources: dict[str, Source] = {
        "gravitino": source_of("gravitino-file", str(sample.GRAVITINO)),
        "datahub": source_of("datahub-file", str(sample.DATAHUB)),
        "cdap": source_of("cdap-file", str(sample.CDAP)),
    }
    old = [name for name in sources if not _is_current(folder / name, _SOURCES[name])]
    if not old:
        return
    from lakewarden.pipeline.ingest.run import ingest

    show(f"Reading exports of {some(old, len(old))} into {folder}:")
    sys.stdout.flush()
    with session("lakewarden demo") as spark:
        for name in old:
            with shown(name) as progress:
                made = ingest(
                    sources[name],
                    folder / name,
                    spark=spark,
                    settings=SETTINGS.get(name),
                    progress=progress,
                )
            rows = sum(rows.passed for rows in made.report.rows.values())
            show(f"    {name}: {rows:,} rows in {made.report.took:.1f} s")
            sys.stdout.flush()
    show("")


def _is_current(directory: Path, export: Path) -> bool:
    """Whether the directory was made from these very files, and can be read."""
    if not (directory / MANIFEST).exists():
        return False
    try:
        manifest = read_manifest(directory)
        wanted = SETTINGS.get(directory.name, {})
        return (
            list(manifest.inputs) == inputs_of(find(export, SUFFIXES))
            and wanted.items() <= manifest.settings.items()
            and bool(realm_of(load(directory)))
        )
    except BadInput:
        return False


def _tell(number: int, question: Question, folder: Path, realms: Mapping[str, Realm]) -> bool:
    """Prints a question and its answer; False when it could not be judged."""
    show("", f"{number}. {question.says}", f"   $ {question.command(folder)}")
    answers = {"explain": _explained, "who": _users, "list": _entities}
    found = list(answers[question.verb](question, realms[question.realm]))
    show(*(f"   {line}" for line in found))
    if question.remark:
        show(f"   → {question.remark}")
    return bool(found)


def _explained(question: Question, realm: Realm) -> Iterator[str]:
    asked = ask(realm, question.asker, question.operation, question.entity)
    found = explain(realm.matrix, asked.request)
    if found.decision.reason is not Reason.ERROR:
        yield from explanation(found, told(asked))


def _users(question: Question, realm: Realm) -> Iterator[str]:
    asked = ask(realm, None, question.operation, question.entity)
    names = [principal_name(user) for user in sorted(who(realm.matrix, asked.request))]
    yield f"{len(names)} users: {some(names, NAMES_SHOWN)}"


def _entities(question: Question, realm: Realm) -> Iterator[str]:
    asked = ask(realm, question.asker, question.operation, None)
    found = page(realm.matrix, asked.request, NAMES_SHOWN)
    yield f"{headline(asked.request, True)} on {found.total}:"
    yield f"  {some([entity_text(entity) for entity in found.entities], NAMES_SHOWN)}"


def _show_next(folder: Path) -> None:
    quoted = {name: shlex.quote(str(folder / name)) for name in _SOURCES}
    copy = shlex.quote(_DATASET.format("scratch.salaries_copy"))
    show("", "Go on from here:")
    show(
        f"  lakewarden check dora entity.read {copy} --from {quoted['datahub']}",
        f"  lakewarden explain fay table.load {_LAKE}customers.contacts"
        f" --from {quoted['gravitino']}",
        f"  lakewarden list jane table.load --count --from {quoted['gravitino']}",
        f"  lakewarden privileges igor namespace:supply --from {quoted['cdap']}",
        "  lakewarden operations --model datahub --about dataset",
    )
