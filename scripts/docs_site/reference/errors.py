"""Every kind of error, and what it becomes at each edge, by calling the edges themselves."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from lakewarden.cli.outcome import code_for
from lakewarden.http.admin import problem
from lakewarden.http.authzen import errors as authzen
from lakewarden.kernel.errors import (
    BadInput,
    Busy,
    Conflict,
    LimitExceeded,
    RealmClosed,
    StaleSnapshot,
    Starting,
    Unavailable,
    Unknown,
    WardenError,
)
from lakewarden.kernel.request import Reason
from lakewarden.service.decision_service import StaleRevision
from lakewarden.systems.cdap.http import errors as cdap
from lakewarden.systems.datahub.http import errors as datahub
from lakewarden.systems.gravitino.http import errors as gravitino
from scripts.docs_site.reference.markdown import code, paragraphs, table

HEAD = """# Errors and reasons

Written from the code: each error was handed to every API, and this is the status that came back.
A denial is no error but an answer: 403 from `/api/v1`, what the system itself would say in its
own API, 200 with `"decision": false` in AuthZEN, exit code 1 on the command line. [Administration
API](../api.md#visibility-and-errors) has the format of its errors, [Command line](../cli.md) the
meaning of exit codes.
"""

ERRORS: Final[Mapping[str, WardenError]] = {
    "bad input": BadInput("malformed"),
    "unknown word": Unknown("privilege", "NO_SUCH"),
    "unknown entity": Unknown("entity", "table:lake:no.such.table"),
    "conflict": Conflict("it exists"),
    "busy": Busy("another push is under way"),
    "limit exceeded": LimitExceeded("too many"),
    "stale snapshot": StaleSnapshot("moved on"),
    "stale revision": StaleRevision("a revision that this server does not have"),
    "unavailable": Unavailable("the database is away"),
    "realm closed": RealmClosed("its model is gone"),
    "starting": Starting(),
}
EDGES: Final[Mapping[str, Callable[[Exception], int]]] = {
    "`/api/v1`": problem.status_of,
    "AuthZEN": lambda error: int(authzen.status_of(error)),
    "Gravitino": lambda error: gravitino.failure_of(error).status,
    "DataHub": lambda error: datahub.failure_of(error).status,
    "CDAP": lambda error: cdap.failure_of(error).status,
}
MEANINGS: Final[Mapping[Reason, str]] = {
    Reason.ALLOWED: "a statement, an ownership or the rule itself allows it",
    Reason.DENIED: "nothing allows it, or a DENY applies",
    Reason.NOT_STORED: "the model decides about stored entities only, and this one is not stored",
    Reason.ROLE_NOT_HELD: "the caller asked to act in a role that it does not have",
    Reason.ERROR: "the rule could not be evaluated; a denial, which a metric counts",
}


def page() -> str:
    """The page: statuses and exit codes by error, problem types, reasons of decisions."""
    columns = ("Error", *EDGES, "Exit code", "Meaning")
    rows = [
        (name, *(str(edge(error)) for edge in EDGES.values()), str(code_for(error)), _says(error))
        for name, error in ERRORS.items()
    ]
    types = [
        (code(f"urn:lakewarden:problem:{kind}"), str(status), title)
        for status, (kind, title) in problem._TITLES.items()
    ]
    reasons = [(code(reason.value), MEANINGS[reason]) for reason in Reason]
    return "\n".join(
        [
            HEAD,
            "## Statuses\n",
            table(columns, rows),
            "## Types of problems\n",
            "`/api/v1` answers a failure with problem details; `type` is one of:\n",
            table(("`type`", "Status", "Title"), types),
            "## Reasons of decisions\n",
            "`reason` of a decision, in every API and on the command line:\n",
            table(("Reason", "Meaning"), reasons),
        ]
    )


def _says(error: WardenError) -> str:
    return paragraphs(type(error).__doc__).partition("\n\n")[0]
