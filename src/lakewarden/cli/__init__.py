"""The command line: one module for each verb, loaded only when it is called.

Exit codes of every verb: 0 yes, done, nothing to report; 1 an answer that is a no; 2 bad
input or usage; 3 could not find out.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence

from cyclopts import App, CycloptsError

from lakewarden import __version__
from lakewarden.cli.outcome import BAD_INPUT, code_for
from lakewarden.kernel.errors import WardenError

_VERBS = {
    "check": "lakewarden.cli.check:check",
    "list": "lakewarden.cli.listing:list_entities",
    "who": "lakewarden.cli.who:who",
    "explain": "lakewarden.cli.explain:explain",
    "privileges": "lakewarden.cli.privileges:privileges",
    "operations": "lakewarden.cli.operations:operations",
    "demo": "lakewarden.cli.demo:demo",
}


def application() -> App:
    """The command tree."""
    app = App(
        name="lakewarden",
        help="One authorization plane for a data estate: ask who may do what, and why.",
        version=__version__,
        help_format="plaintext",
        result_action="return_value",
    )
    for name, home in _VERBS.items():
        app.command(home, name=name)
    pipeline = App(name="pipeline", help="Batch jobs on Spark.")
    pipeline.command("lakewarden.cli.ingest:ingest", name="ingest")
    app.command(pipeline)
    app.register_install_completion_command()
    return app


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs one verb and returns its exit code; never shows a stack trace for bad input."""
    tokens = list(sys.argv[1:] if arguments is None else arguments)
    try:
        code = application()(tokens, exit_on_error=False)
    except CycloptsError:
        return BAD_INPUT
    except WardenError as error:
        print(f"lakewarden: {error}", file=sys.stderr)
        return code_for(error)
    except BrokenPipeError:
        return 0
    return code if isinstance(code, int) else 0
