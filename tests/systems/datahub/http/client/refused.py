"""Prints the client's error for a token that the server does not know: `URL`.

Run by the Python that has the client installed.
"""

from __future__ import annotations

import sys

from datahub.configuration.common import ConfigurationError  # type: ignore[import-not-found]
from datahub.ingestion.graph.client import DatahubClientConfig, DataHubGraph  # type: ignore[import-not-found]

if __name__ == "__main__":
    try:
        DataHubGraph(DatahubClientConfig(server=sys.argv[1], token="lw_wrong")).test_connection()
    except ConfigurationError as error:
        print(error)
