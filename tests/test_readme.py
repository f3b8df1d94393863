"""The commands on the pages: verbs and targets exist, and commands that can run here succeed."""

from __future__ import annotations

import io
import os
import re
import shlex
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import ExitStack
from itertools import groupby
from pathlib import Path
from textwrap import dedent
from typing import Final

import pytest

from lakewarden.cli import GROUPS, VERBS, application, main
from lakewarden.cli.demo import default_folder
from tests.app.forked import Forked
from tests.app.threaded import threaded
from tests.sample import estate as estates

ROOT = Path(__file__).parent.parent
README = ROOT / "README.md"
DOCS = ROOT / "docs"
GUIDES = (*sorted((DOCS / "readers").glob("*.md")), DOCS / "faq.md")
RUN = (DOCS / "cli.md", DOCS / "serving.md")
"""The pages whose examples run independently."""
PAGES = (README, ROOT / "CONTRIBUTING.md", DOCS / "index.md", *GUIDES, *RUN)
"""These, and pages whose examples run in order."""
OTHERS = tuple(
    page
    for page in sorted({*DOCS.glob("*.md"), *DOCS.glob("lint/*.md"), *DOCS.glob("examples/*.md")})
    if page not in PAGES
    and page.name != "adding-a-system.md"  # whose source comes with its package
)
"""Pages that other tests follow, or that need other machines; their commands must exist."""

PROGRAMS: Final = ("lakewarden", "make")
_VARIABLES: Final = re.compile(r"^(?:[A-Z_]+=\S+ +)+")
_BLOCK: Final = re.compile(r"^( *)```([a-z]*)\n(.*?)^\1```", re.DOTALL | re.MULTILINE)
RULES: Final = ROOT / "src/lakewarden/sample/links.toml"
POLICY: Final = Path(__file__).parent / "sample" / "policy.toml"

estate = estates.estate


def blocks(page: Path) -> Iterator[str]:
    """The commands in the fenced blocks of a page, with continued lines joined."""
    for _, _, block in _BLOCK.findall(page.read_text("utf-8")):
        for line in re.sub(r"\\\n\s*", " ", block).splitlines():
            command = _VARIABLES.sub("", line.strip().removeprefix("$ "))
            if command.split(" ")[0] in PROGRAMS:
                yield command


def fenced(page: Path) -> Iterator[tuple[str, str]]:
    """The fenced blocks of a page, each with its language; indented ones are dedented."""
    for _, language, text in _BLOCK.findall(page.read_text("utf-8")):
        yield language, dedent(text)


def mentions(page: Path) -> Iterator[str]:
    """The commands in the text of a page, in backticks."""
    text = _BLOCK.sub("", page.read_text("utf-8"))
    for found in re.findall(r"`([^`\n]+)`", text):
        if found.split(" ")[0] in PROGRAMS and " " in found:
            yield found


def words(command: str) -> list[str]:
    """The words of a command, without a trailing comment."""
    return shlex.split(command, comments=True)


def shown(page: Path) -> list[str]:
    return sorted({*blocks(page), *mentions(page)})


EVERYTHING = [
    *((page.name, command) for page in PAGES for command in shown(page)),
    *((page.name, command) for page in OTHERS for command in sorted({*blocks(page)})),
]
_FIRST = {command: page.name for page in reversed(RUN) for command in blocks(page)}
EXAMPLES = [
    (page.name, command)
    for page in RUN
    for command in dict.fromkeys(blocks(page))
    if _FIRST[command] == page.name
]
"""Each command once, on the first page that shows it."""
UNDERSTOOD = list(
    {
        command: (page.name, command)
        for page in (*OTHERS, README, *GUIDES, *RUN)
        for command in blocks(page)
    }.values()
)
SPARED: Final = ("ingest", "index", "watch")
"""The verbs below `pipeline` that need no Spark for inputs as small as those of the pages."""
SELDOM: Final = ("access", "diff", "export", "lint", "people", "review", "unused")
"""The verbs that use Spark most; by day they run only as the tutorial shows them."""
FOLLOWED: Final = ("apply", "demo", "plan")
"""The slowest verbs without Spark; by day they run only as the README shows them."""


def test_the_pages_show_commands() -> None:
    assert {page.name for page in PAGES} <= {name for name, _ in EVERYTHING}
    assert {command for _, command in EXAMPLES} == {one for page in RUN for one in blocks(page)}


@pytest.mark.parametrize(("page", "command"), EVERYTHING)
def test_every_command_that_is_shown_exists(page: str, command: str) -> None:
    program, *rest = words(command)
    if program == "make":
        targets = re.findall(r"^([a-z-]+):.*##", (ROOT / "Makefile").read_text("utf-8"), re.M)
        asked = [word for word in rest if "=" not in word]
        assert asked, "a target is named"
        assert set(asked) <= set(targets)
    elif not (rest[0].startswith("-") or rest[0] == "VERB"):
        if rest[0] in GROUPS:
            assert {rest[1], " ".join(rest[1:3])} & {*GROUPS[rest[0]][1]}
        else:
            assert rest[0] in VERBS


@pytest.mark.parametrize(("page", "command"), UNDERSTOOD)
def test_every_example_is_understood(page: str, command: str) -> None:
    for is_pipe, piped in groupby(words(command), "|".__eq__):
        if is_pipe or (program := [*piped])[0] != "lakewarden":
            continue
        # The command line reads `-` as this file.
        rest = ["/dev/stdin" if word == "-" else word for word in program[1:]]
        first, *others = (list(job) for joins, job in groupby(rest, "+".__eq__) if not joins)
        for job in (first, *([rest[0], *other] for other in others)):
            application().parse_args(job, exit_on_error=False, print_error=False)


def _needs_spark(command: str) -> bool:
    _, *rest = words(command)
    return rest[0] == "pipeline" and rest[1] not in SPARED


def _marks(command: str) -> list[pytest.MarkDecorator]:
    if not _needs_spark(command):
        return [pytest.mark.nightly] * (words(command)[1] in FOLLOWED)
    is_seldom = words(command)[2] in SELDOM
    return [pytest.mark.spark, *[pytest.mark.nightly] * is_seldom]


@pytest.mark.usefixtures("logs_as_before")
@pytest.mark.parametrize(
    ("page", "command"),
    [pytest.param(*example, marks=_marks(example[1])) for example in EXAMPLES],
)
def test_every_example_runs(
    page: str,
    command: str,
    request: pytest.FixtureRequest,
    estate: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    request.getfixturevalue("spark" if _needs_spark(command) else "unstarted")
    program, *rest = words(command)
    is_elsewhere = any(machine in word for word in rest for machine in ELSEWHERE)
    if program != "lakewarden" or rest[0].startswith("--") or is_elsewhere:
        return
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    rest = [os.path.expanduser(word) for word in rest]
    _provide(estate, rest)
    if rest[0] == "serve":
        if shutil.which("curl") is None:
            pytest.skip("there is no curl here")
        monkeypatch.setenv("LAKEWARDEN_PORT", "0")
        _serves(rest)
        return
    if rest[0] == "iceberg-guard":
        Path(rest[rest.index("--config") + 1]).write_text(GUARD, "utf-8")
        _serves([*rest, "--port", "0"])
        return
    monkeypatch.setattr("sys.stdin", io.StringIO("a password from a pipe\n"))
    code = main(rest)
    if rest[0] == "gateway":  # complete except for the token of a Spark server
        assert "LAKEWARDEN_SPARK_TOKEN" in capsys.readouterr().err
        return
    assert code in (0, 1), capsys.readouterr().err


@pytest.mark.usefixtures("unstarted")
@pytest.mark.parametrize(
    "page",
    [
        pytest.param(page, marks=[pytest.mark.nightly] * (page.stem == "administrator"))
        for page in GUIDES
    ],
    ids=lambda page: page.stem,
)
def test_a_guide_is_followed_from_top_to_bottom(
    page: Path,
    estate: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    for language, text in fenced(page):
        match language:
            case "sh":
                subprocess.run(["sh", "-ec", text], check=True)
            case "python":
                exec(text, {})  # noqa: S102 — the page's own example
            case _:
                for line in text.splitlines():
                    program, *rest = words(line)
                    assert program == "lakewarden"
                    if rest == DEMO:  # the README's, which runs there
                        shutil.copytree(estate, "estate")
                    else:
                        assert main(rest) in (0, 1), capsys.readouterr().err


@pytest.mark.skipif(shutil.which("curl") is None, reason="there is no curl here")
def test_the_readme_is_followed_from_top_to_bottom(
    estate: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    shutil.copytree(estate, "estate")  # where the demo finds it and does not create it again
    shutil.copy(estates.SMALL_EXPORT, "metadata.json")
    Path("tables").mkdir()
    Path("tables", "principals.csv").write_text("kind,name\nuser,ana\n", "utf-8")
    with ExitStack() as stack:
        follower = Follower(stack, capsys)
        for language, text in fenced(README):
            follower.follow(language, text)
    assert follower.called == len(_ANSWERED)
    assert follower.verbs >= set(FOLLOWED)


class Follower:
    """Runs the README, block by block, in the current folder."""

    def __init__(self, stack: ExitStack, capsys: pytest.CaptureFixture[str]) -> None:
        self._stack = stack
        self._capsys = capsys
        self._address = ""
        self.called = 0
        self.verbs: set[str] = set()

    def follow(self, language: str, text: str) -> None:
        match language:
            case "sh" if text.startswith("curl "):
                self._call(text)
            case "sh":
                subprocess.run(["sh", "-ec", text], check=True)
            case "python" if "gravitino" not in text:  # see tests/wire/gravitino
                exec(text, {})  # noqa: S102 — the page's own example
            case "" if text.startswith("$ lakewarden "):
                command, _, answer = text.removeprefix("$ ").partition("\n")
                assert self._run(words(command)) == answer
            case "":
                for line in text.splitlines():
                    self._run(words(line))

    def _run(self, command: list[str]) -> str:
        program, *rest = command
        if program == "make":
            assert rest[0] in ("demo", "test")
            rest = DEMO if rest[0] == "demo" else []
        if not rest or any(machine in word for word in rest for machine in ELSEWHERE):
            return ""
        if rest[0] == "serve":
            options = dict(zip(rest[1::2], rest[2::2], strict=True))
            assert options.keys() == {"--database"}
            folder, url = Path("served"), options["--database"]
            store = f"sqlite:///{Path(url.removeprefix('sqlite:///')).resolve()}"
            self._address = self._stack.enter_context(threaded(folder, database=store)).address
            return ""
        self._capsys.readouterr()
        self.verbs.add(rest[0])
        assert main(rest) in (0, 1), self._capsys.readouterr().err
        return self._capsys.readouterr().out

    def _call(self, text: str) -> None:
        (expected,) = [said for path, said in _ANSWERED.items() if path in text]
        asked = shlex.split(text.replace("http://127.0.0.1:8787", self._address))
        done = subprocess.run([*asked, "-s"], capture_output=True, text=True, check=True)
        assert expected in done.stdout, done.stdout
        self.called += 1


DEMO: Final = ["demo", "--once", "--dir", "estate"]
"""Writes the sample data that most pages use."""

_ANSWERED: Final = {
    "/api/graphql": '{"urn":"urn:li:corpuser:ana"}',
    "/v3/security/authorization": "",
    "/access/v1/evaluation": '"decision":true',
}
"""The README's calls, and a part of each response."""


def _serves(rest: list[str]) -> None:
    """Checks that the server starts, becomes ready and stops on request."""
    running = Forked(rest, Path.cwd(), Path("served.log").absolute(), os.environ)
    try:
        address = running.stdout.readline().rpartition(" ")[2].strip()
        waiting = ("--retry", "30", "--retry-all-errors", "--retry-delay", "1", "--max-time", "60")
        subprocess.run(["curl", "-sf", *waiting, f"{address}/readyz"], check=True)
    finally:
        running.terminate()
        code = running.close(30)
    assert code == 0


GUARD: Final = '[iceberg.gravitino]\nuri = "http://127.0.0.1:9"\nprefixes = { shop = "" }\n'
"""A configuration of a guard, which starts even if its catalog is unavailable."""

ELSEWHERE: Final = ("host/", "https://lakewarden.example")
"""The machines in examples that cannot run here."""


SQLITE: Final = "sqlite:///"
MODEL_FILE: Final = "./documents.toml"


def _provide_store(estate: Path, rest: list[str], url: str) -> None:
    """Creates what the page presumes about a store: realms, policy, a plan, a backup."""
    at = ("--database", "sqlite:///estate.db")
    if not Path("estate.db").exists() and rest[0] not in ("init", "serve"):
        assert main(["init", *at, "--admin", "ana"]) == 0
    if url != at[1]:
        assert main(["backup", "estate.backup", *at]) == 0
    if "anchors.jsonl" in rest:
        Path("anchors.jsonl").touch()
    if rest[:2] == ["realm", "upgrade"]:
        assert main(["realm", "create", rest[2], "--model", MODEL_FILE, *at]) == 0
    if rest[0] == "lookup":
        Path("managers.csv").write_text("region,manager,level\neu,ana,1\n", "utf-8")
    if rest[:2] == ["lookup", "show"]:
        assert main(["lookup", "put", "managers", "managers.csv", "--realm", "gravitino", *at]) == 0
    if rest[0] == "load":
        shutil.copytree(estate / "gravitino", rest[1])
    if rest[0] in ("plan", "apply"):
        shutil.copytree(estate / "gravitino", "quillmere")
    if rest[0] == "changes":
        assert main(["load", str(estate / "gravitino"), "--realm", "gravitino", *at]) == 0
    if rest[0] in ("plan", "apply"):
        assert main(["load", "quillmere", "--realm", "gravitino", *at]) == 0
        shutil.copy(POLICY, "policy.toml")
    if rest[0] == "apply":
        plan = ["plan", "policy.toml", "--realm", "gravitino", "--out", "plan.json"]
        assert main([*plan, *at]) == 1


TOXIC: Final = """
[[combination]]
id = "none"
first = { way = "see", type = "catalog" }
second = { way = "change", asset = "table:quillmere:lake.people.salaries" }
except = ["user:ana"]
"""


def _provide_job(estate: Path, rest: list[str]) -> None:
    """Creates what the page presumes about a job: a directory, an index, rules, logs."""
    match rest[1]:
        case "run" | "watch":
            shutil.copytree(estate / "gravitino", "lake")
            job = '[[job]]\nverb = "index"\narguments = ["lake"]\nout = "lake-index"\n'
            Path(rest[2]).write_text(job, "utf-8")
        case "index":
            shutil.copytree(estate / "gravitino", rest[2])
        case "people":
            words = ["--out", rest[2], "--privileges", "none", "--operations", "table.load"]
            assert main(["pipeline", "review", str(_index(estate)), *words]) == 0
        case "access":
            words = ["--out", rest[2], "--privileges", "none", "--operations", "access"]
            assert main(["pipeline", "export", str(_index(estate)), *words]) == 0
            Path("toxic.toml").write_text(TOXIC, "utf-8")
        case "ownership":
            shutil.copytree(estate / "datahub", rest[2])
            rule = "[[rule]]\npattern = 'urn:li:dataset:'\nowners = ['urn:li:corpGroup:finance']\n"
            Path(rest[rest.index("--rules") + 1]).write_text(rule, "utf-8")
        case "link":
            shutil.copy(RULES, rest[rest.index("--rules") + 1])
        case "diff":
            shutil.copy(POLICY, "policy.toml")
        case "unused":
            at = ("--database", "sqlite:///estate.db")
            assert main(["init", *at]) == 0
            assert main(["load", str(estate / "gravitino"), "--realm", "gravitino", *at]) == 0
        case "stream":
            _provide_feed(estate, rest[2], rest[rest.index("--index") + 1])
            return
    for word in rest[2:]:
        if word.endswith("-index") and rest[rest.index(word) - 1] != "--out":
            shutil.copytree(_index(estate), word)


def _provide_feed(estate: Path, feed: str, index: str) -> None:
    """Creates the index of a store's realm, and the realm's later changes."""
    at = ("--database", "sqlite:///estate.db")
    assert main(["init", *at]) == 0
    assert main(["load", str(estate / "gravitino"), "--realm", "gravitino", *at]) == 0
    kept = ("--source", "store", "--realm", "gravitino", "--out", "lake")
    assert main(["pipeline", "ingest", at[1], *kept]) == 0
    assert main(["pipeline", "index", "lake", "--out", index]) == 0
    assert main(["changes", feed, "--realm", "gravitino", *at]) == 0


def _index(estate: Path) -> Path:
    """The index of the company's lake, made once."""
    folder = estate / "lake-index"
    if not folder.exists():
        assert main(["pipeline", "index", str(estate / "gravitino"), "--out", str(folder)]) == 0
    return folder


def _provide(estate: Path, rest: list[str]) -> None:
    """Creates what the page presumes: a realm, an export, a folder of tables."""
    if rest[0] == "demo":
        # Where the demo looks for it, so it is not created again.
        folder = Path(rest[rest.index("--dir") + 1]) if "--dir" in rest else default_folder()
        shutil.copytree(estate, folder)
    if MODEL_FILE in rest and rest[:2] != ["model", "new"]:
        assert main(["model", "new", MODEL_FILE]) == 0
    if rest[0] == "pipeline":
        _provide_job(estate, rest)
    for at in [at for at, word in enumerate(rest) if word == "--from"]:
        folder = Path(rest[at + 1])
        name = folder.name if (estate / folder.name).is_dir() else "gravitino"
        shutil.copytree(estate / name, folder)
    for word in rest:
        if word.startswith(SQLITE):
            _provide_store(estate, rest, word)
        elif word.endswith(".json") and rest[0] == "pipeline":
            shutil.copy(estates.SMALL_EXPORT, word)
        elif word.endswith("/"):
            Path(word).mkdir()
            Path(word, "principals.csv").write_text("kind,name\nuser,ana\n", "utf-8")
