"""An operator of Airflow that runs a command of lakewarden.

LakewardenOperator(
    task_id="access",
    arguments=["pipeline", "access", "lake-tables", "--out", "lake-access", "--format", "json"],
    executable="/opt/lakewarden/bin/lakewarden",
    secrets={"LAKEWARDEN_TOKEN": "lakewarden_default"},
    findings="skip",
)
"""

from __future__ import annotations

import subprocess
from collections.abc import Mapping, Sequence
from typing import Any

from airflow.sdk import BaseHook, BaseOperator
from airflow.sdk.exceptions import AirflowException, AirflowFailException, AirflowSkipException
from airflow.sdk.log import mask_secret

from lakewarden_orchestration.command import Outcome, run, stop

FINDINGS = ("succeed", "skip", "fail")


class LakewardenOperator(BaseOperator):
    """Runs a command of lakewarden; with `--format json` its report is the XCom of the task.

    `secrets`: for a variable of the environment the connection whose password is its value, read
    when the task runs. `findings` says what exit code 1 means: the task succeeds, is skipped
    (with what follows), or fails. Wrong input (2) fails without a retry; everything else (3, or a
    process that was killed) fails, and is tried again as often as `retries` says.
    """

    template_fields: Sequence[str] = ("arguments", "executable")

    def __init__(
        self,
        *,
        arguments: Sequence[str],
        executable: str = "lakewarden",
        secrets: Mapping[str, str] | None = None,
        findings: str = "succeed",
        **rest: Any,
    ) -> None:
        super().__init__(**rest)
        if findings not in FINDINGS:
            raise ValueError(f"findings: expected one of {', '.join(FINDINGS)}, got {findings!r}")
        self.arguments = list(arguments)
        self.executable = executable
        self.secrets = dict(secrets or {})
        self.findings = findings
        self._process: subprocess.Popen[str] | None = None

    def execute(self, context: Any) -> object:
        """The report of the command."""
        finished = run(
            [str(argument) for argument in self.arguments],
            self.log.info,
            executable=self.executable,
            secrets={name: _password(connection) for name, connection in self.secrets.items()},
            started=self._started,
        )
        match finished.outcome:
            case Outcome.REFUSED:
                raise AirflowFailException(finished.message)
            case Outcome.UNAVAILABLE:
                raise AirflowException(finished.message)
            case Outcome.FOUND if self.findings == "fail":
                raise AirflowFailException(f"findings: {finished.message}")
            case Outcome.FOUND if self.findings == "skip":
                raise AirflowSkipException(f"findings: {finished.message}")
        return finished.report

    def _started(self, process: subprocess.Popen[str]) -> None:
        self._process = process

    def on_kill(self) -> None:
        """Ends the command when the task is ended."""
        if self._process is not None:
            stop(self._process)


def _password(connection: str) -> str:
    password = BaseHook.get_connection(connection).password
    if not password:
        raise AirflowFailException(f"the connection `{connection}` has no password")
    mask_secret(password)
    return password
