"""Assets of Dagster that are the folders of lakewarden's jobs.

words = ["pipeline", "index", "lake", "--out", "lake-index"]
lakewarden_asset("lake_index", words, deps=["lake"])
"""

from collections.abc import Mapping, Sequence
from typing import Any

from dagster import (
    AssetExecutionContext,
    AssetsDefinition,
    EnvVar,
    Failure,
    MaterializeResult,
    asset,
)

from lakewarden_orchestration.command import Outcome, run


def lakewarden_asset(
    name: str,
    arguments: Sequence[str],
    *,
    deps: Sequence[str] = (),
    executable: str = "lakewarden",
    secrets: Mapping[str, str] | None = None,
    fails_on_findings: bool = False,
) -> AssetsDefinition:
    """An asset that a job of `lakewarden pipeline` makes.

    The numbers of its run report are metadata of the asset: version, rows of tables, seconds.
    `secrets`: for a variable of the command the variable of Dagster that holds it. Wrong input
    (exit code 2) is never tried again; findings (1) are metadata, or a failure.
    """

    @asset(name=name, deps=list(deps), kinds={"lakewarden"})
    def made(context: AssetExecutionContext) -> MaterializeResult:
        finished = run(
            [*arguments, "--format", "json"],
            context.log.info,
            executable=executable,
            secrets={to: EnvVar(of).get_value() or "" for to, of in (secrets or {}).items()},
        )
        is_found = finished.outcome is Outcome.FOUND
        if finished.outcome in (Outcome.REFUSED, Outcome.UNAVAILABLE) or (
            is_found and fails_on_findings
        ):
            retry = finished.outcome is Outcome.UNAVAILABLE
            raise Failure(finished.message, allow_retries=retry)
        return MaterializeResult(metadata={"findings": is_found, **_metadata(finished.report)})

    return made


def _metadata(report: object) -> dict[str, Any]:
    """What people look for in the catalog: the version, and the rows of each table."""
    if not isinstance(report, Mapping):
        return {}
    rows = report.get("rows")
    tables = rows if isinstance(rows, Mapping) else {}
    known = {"version": report.get("version"), "new": report.get("new")}
    return {
        **{key: value for key, value in known.items() if value is not None},
        **{f"rows/{table}": n for table, n in tables.items()},
    }
