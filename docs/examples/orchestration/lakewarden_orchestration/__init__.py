"""Commands of lakewarden in Airflow and Dagster.

command   runs a command, maps its exit code and masks secrets in what it says
airflow   an operator
dagster   assets of a pipeline
"""

from __future__ import annotations


def get_provider_info() -> dict[str, object]:
    """What Airflow lists among its providers."""
    return {
        "package-name": "lakewarden-orchestration",
        "name": "lakewarden",
        "description": "Runs commands of lakewarden and maps their exit codes.",
        "versions": ["0.1.0"],
    }
