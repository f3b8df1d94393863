"""Creates a user with a password, by acryl-datahub's graph: `URL TOKEN`.

Run by the Python that has the client installed.
"""

from __future__ import annotations

import sys

from datahub.configuration.common import OperationalError  # type: ignore[import-not-found]
from datahub.ingestion.graph.client import DatahubClientConfig, DataHubGraph  # type: ignore[import-not-found]

EMAIL = "ana@x.test"
PASSWORD = "correct horse 7"


def main(url: str, token: str) -> None:
    graph = DataHubGraph(DatahubClientConfig(server=url, token=token))
    urn = graph.create_native_user("ana", EMAIL, "Ana Arc", PASSWORD, role="Editor")
    assert urn == "urn:li:corpuser:ana", urn
    assert graph.exists(urn)
    answer = graph.execute_graphql(
        "query u($u: String!, $r: RelationshipsInput!) { corpUser(urn: $u)"
        " { isNativeUser info { email }"
        " relationships(input: $r) { relationships { entity { urn } } } } }",
        variables={"u": urn, "r": {"types": ["IsMemberOfRole"], "direction": "OUTGOING"}},
    )["corpUser"]
    assert answer["isNativeUser"] is True, answer
    assert answer["info"]["email"] == EMAIL, answer
    roles = [one["entity"]["urn"] for one in answer["relationships"]["relationships"]]
    assert roles == ["urn:li:dataHubRole:Editor"], answer
    refused(graph, "ana", PASSWORD, "taken")
    refused(graph, "bo", "short", "8 to 256 characters")
    stranger = DataHubGraph(DatahubClientConfig(server=url, token="lw_wrong"))
    refused(stranger, "cy", PASSWORD, "not valid")
    print("signing up: ok")


def refused(graph: DataHubGraph, name: str, password: str, said: str) -> None:
    """The client reports the server's message."""
    told = ""
    try:
        graph.create_native_user(name, f"{name}@x.test", "x", password)
    except OperationalError as error:
        told = str(error)
    assert said in told, told


if __name__ == "__main__":
    main(*sys.argv[1:])
