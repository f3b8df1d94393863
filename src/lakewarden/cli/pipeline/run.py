"""`lakewarden pipeline run`: several jobs, one after the other, in one Spark session."""

from __future__ import annotations

import inspect
import sys
import time
import traceback
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

from cyclopts import CycloptsError, Parameter

from lakewarden.cli.outcome import (
    COULD_NOT_TELL,
    NO,
    YES,
    code_for,
    complain,
    reason_of,
    show,
)
from lakewarden.cli.pipeline.spark_options import LOCAL, Spark
from lakewarden.cli.status_line import is_quiet
from lakewarden.kernel.errors import BadInput, WardenError
from lakewarden.kernel.toml_section import Section
from lakewarden.names.secret import masked_command
from lakewarden.pipeline.session import session
from lakewarden.pipeline.storage.location import Location
from lakewarden.pipeline.toml_file import read_toml

if TYPE_CHECKING:
    from lakewarden.pipeline.session import Session

JOINED: Final = "+"
"""The word that separates jobs on the command line."""

_GROUP = "pipeline"
_NO_JOBS: Final = ("run", "watch")
_VERB, _ARGUMENTS = "verb", "arguments"


@dataclass(frozen=True, slots=True)
class Job:
    """A verb with its arguments, as on the command line; `place` says where the job is declared."""

    place: str
    arguments: tuple[str, ...]

    @property
    def text(self) -> str:
        """The command line of the job alone, without secrets."""
        return masked_command(["lakewarden", _GROUP, *self.arguments])


@dataclass(frozen=True, slots=True)
class BoundJob:
    """A job with the parsed arguments of its verb."""

    job: Job
    call: Callable[..., Any]
    bound: inspect.BoundArguments

    @property
    def spark(self) -> Spark:
        """The Spark master or remote of the run."""
        return next((v for v in self.bound.arguments.values() if isinstance(v, Spark)), LOCAL)

    @property
    def out(self) -> Location | None:
        """The folder that the job writes to."""
        arguments = self.bound.arguments
        return arguments.get("out") or (arguments.get("index") if self.verb == "stream" else None)

    @property
    def verb(self) -> str:
        """The verb of `lakewarden pipeline`."""
        return self.job.arguments[0]

    def run(self) -> int:
        """Runs the job in the current session; returns its exit code. Reports errors."""
        try:
            code = self.call(*self.bound.args, **self.bound.kwargs)
        except (WardenError, OSError) as error:
            complain(f"{self.job.place}: {reason_of(error)}")
            return code_for(error)
        except ImportError:
            raise  # the caller knows which extra is missing
        except Exception:  # noqa: BLE001 — a crash must not look like an answer or end a watch
            traceback.print_exc()
            complain(f"{self.job.place}: internal error; the lines above say where")
            return COULD_NOT_TELL
        sys.stdout.flush()
        return code if isinstance(code, int) else YES


def running(
    jobfile: Annotated[Path, Parameter(help="TOML file with a table `[[job]]` for each job.")],
    /,
    *,
    dry_run: Annotated[
        bool,
        Parameter(help="Validate the file and print the jobs; run none.", show_default=False),
    ] = False,
) -> int:
    """Runs several jobs in one process, one after the other; Spark starts at most once.

    A table of the file names a verb of `lakewarden pipeline`, its arguments, and its options by
    name, as in the help of the verb. All jobs are validated before the first one runs. A failed job
    ends the run; exit code 1, such as for changes of `diff`, does not. The exit code is that of the
    worst job. On the command line, `+` separates jobs:

        lakewarden pipeline ingest in --source csv --model cdap --out a + index a --out b

    For example:

        lakewarden pipeline run nightly.toml

        lakewarden pipeline run nightly.toml --dry-run
    """
    return _run(read(jobfile), dry_run=dry_run)


def run_joined(arguments: Sequence[str]) -> int:
    """Runs the jobs separated by `+`. Raises `BadInput` for a malformed job."""
    return _run(list(joined(arguments)), dry_run=False)


def joined(arguments: Sequence[str]) -> Iterator[Job]:
    """The jobs between the `+` of a command line.

    >>> [job.arguments for job in joined(["index", "a", "--out", "b", "+", "review", "b"])]
    [('index', 'a', '--out', 'b'), ('review', 'b')]
    """
    parts: list[list[str]] = [[]]
    for argument in arguments:
        if argument == JOINED:
            parts.append([])
        else:
            parts[-1].append(argument)
    for number, part in enumerate(parts, 1):
        verb = part[0] if part else ""
        yield Job(f"job {number}" + (f" ({verb})" if verb else ""), tuple(part))


def read(file: Path) -> list[Job]:
    """The jobs of a file. Raises `BadInput` with file, job and key."""
    section = read_toml(file)
    tables = section.tables("job")
    section.close()
    if not tables:
        raise BadInput("expected a table `[[job]]`", where=str(file))
    return [_job(number, table, file) for number, table in enumerate(tables, 1)]


def _job(number: int, table: Section, file: Path) -> Job:
    verb = table.text(_VERB)
    arguments = [verb, *table.texts(_ARGUMENTS)]
    for name in table.names():
        if name not in (_VERB, _ARGUMENTS):
            arguments += _option(name, table.take(name), table)
    return Job(f"{file}: job {number} ({verb})", tuple(arguments))


def _option(name: str, value: object, table: Section) -> Iterator[str]:
    """An option as words: a flag if the value is true, and one option per value of a list."""
    option = f"--{name.replace('_', '-')}"
    values = value if isinstance(value, list) else [value]
    for item in values:
        if isinstance(item, bool):
            if item:
                yield option
        elif isinstance(item, str | int | float):
            yield f"{option}={item}"
        else:
            expected = "expected a text, a number, true or false, or a list of these"
            raise BadInput(expected, where=table.at(name))


def _run(jobs: Sequence[Job], *, dry_run: bool) -> int:
    bound = bind(jobs)
    if dry_run:
        show(*(bound_job.job.text for bound_job in bound))
        return YES
    worst = YES
    with session_of(bound):
        for _, code, _ in each_run(bound):
            worst = max(worst, code)
    return worst


def bind(jobs: Sequence[Job]) -> list[BoundJob]:
    """The jobs with parsed arguments. Raises `BadInput` with the place of an invalid job."""
    bound = [_bound(job) for job in jobs]
    _place(bound)
    return bound


@contextmanager
def session_of(bound: Sequence[BoundJob]) -> Iterator[Session]:
    """The session that the jobs share."""
    place = _place(bound)
    with session(
        "lakewarden pipeline", place.master, place.remote, place.event_log, place.conf
    ) as spark:
        yield spark


def each_run(bound: Sequence[BoundJob]) -> Iterator[tuple[BoundJob, int, float]]:
    """Runs the jobs until one fails; yields each with its exit code and its duration in seconds."""
    for number, bound_job in enumerate(bound, 1):
        _say(f"[{number}/{len(bound)}] {bound_job.job.text}")
        began = time.monotonic()
        code = bound_job.run()
        seconds = time.monotonic() - began
        _say(f"[{number}/{len(bound)}] took {seconds:.1f} s")
        yield bound_job, code, seconds
        if code > NO:
            return


def _say(text: str) -> None:
    if not is_quiet():
        print(text, file=sys.stderr, flush=True)


def _bound(job: Job) -> BoundJob:
    """The job with the parsed arguments of its verb; options are declared only by the verb."""
    from lakewarden.cli import PIPELINE_VERBS, application

    verb = job.arguments[0] if job.arguments else ""
    if verb not in PIPELINE_VERBS or verb in _NO_JOBS:
        known = ", ".join(name for name in PIPELINE_VERBS if name not in _NO_JOBS)
        raise BadInput(f"no job `{verb}`; expected one of: {known}", where=job.place)
    try:
        call, bound, _ = application().parse_args(
            [_GROUP, *job.arguments], exit_on_error=False, print_error=False
        )
    except CycloptsError as error:
        message = " ".join(str(error).split()).rstrip(".")
        raise BadInput(f"{message[:1].lower()}{message[1:]}", where=job.place) from None
    return BoundJob(job, call, bound)


def _place(jobs: Iterable[BoundJob]) -> Spark:
    """The common Spark settings of all jobs; a job without settings runs where the others do."""
    named: Mapping[Spark, str] = {
        bound_job.spark: bound_job.job.place for bound_job in jobs if bound_job.spark != LOCAL
    }
    if len(named) > 1:
        raise BadInput("the jobs of one run share one session: name one `--master` or `--remote`")
    return next(iter(named), LOCAL)
