"""Calls of acryl-datahub for the platform's features, against the server: `URL TOKEN`.

Run by the Python that has the client installed.
"""

from __future__ import annotations

import sys

from datahub.api.graphql.operation import Operation  # type: ignore[import-not-found]
from datahub.configuration.common import GraphError  # type: ignore[import-not-found]
from datahub.emitter.mcp import MetadataChangeProposalWrapper as Change  # type: ignore[import-not-found]
from datahub.ingestion.graph.client import DatahubClientConfig, DataHubGraph  # type: ignore[import-not-found]
from datahub.metadata import schema_classes as said  # type: ignore[import-not-found]

ORDERS = "urn:li:dataset:(urn:li:dataPlatform:hive,shop.orders,PROD)"
LINK = "urn:li:dataHubConnection:slack"


def main(url: str, token: str) -> None:
    graph = DataHubGraph(DatahubClientConfig(server=url, token=token))
    graph.emit_mcp(Change(entityUrn=ORDERS, aspect=said.DatasetPropertiesClass(name="orders")))
    assertions(graph)
    operations(graph)
    secrets(graph)
    connections(graph)
    print("all: ok")


def assertions(graph: DataHubGraph) -> None:
    urn = graph.upsert_custom_assertion(
        urn=None,
        entity_urn=ORDERS,
        type="Freshness",
        description="is new",
        platform_name="great-expectations",
        field_path="id",
    )["urn"]
    for time, type in ((1, "SUCCESS"), (2, "FAILURE")):
        properties = [{"key": "rows", "value": "7"}]
        assert graph.report_assertion_result(urn, time, type, properties=properties)
    kept = graph.get_aspect(urn, said.AssertionInfoClass)
    assert kept is not None
    assert kept.customAssertion.entity == ORDERS


def operations(graph: DataHubGraph) -> None:
    client = Operation(graph=graph)
    assert client.report_operation(ORDERS, operation_type="INSERT", num_affected_rows=3)
    (found,) = client.query_operations(ORDERS)
    assert (found["operationType"], found["numAffectedRows"]) == ("INSERT", 3)


def secrets(graph: DataHubGraph) -> None:
    made = graph.execute_graphql(
        """mutation make($id: String!, $secret: String!) {
          id: createSecret(input: {name: "lake-client_id", value: $id})
          secret: createSecret(input: {name: "lake-client_secret", value: $secret})
        }""",
        {"id": "me", "secret": "sesame"},
    )
    assert made["secret"] == "urn:li:dataHubSecret:lake-client_secret"
    kept = graph.get_entity_raw(made["secret"])
    assert "sesame" not in str(kept)


def connections(graph: DataHubGraph) -> None:
    """No default policy allows anybody to manage connections."""
    actors = {"allUsers": True, "allGroups": False, "resourceOwners": False}
    policy = {"type": "PLATFORM", "name": "x", "state": "ACTIVE", "actors": actors}
    graph.execute_graphql(
        "mutation make($input: PolicyUpdateInput!) { createPolicy(input: $input) }",
        {"input": {**policy, "privileges": ["MANAGE_CONNECTIONS"]}},
    )
    platform = "urn:li:dataPlatform:slack"
    graph.set_connection_json(LINK, platform_urn=platform, config={"token": "x"}, name="Slack")
    refused = ""
    try:
        graph.get_connection_json(LINK)
    except GraphError as error:
        refused = str(error)
    assert "sealed" in refused


if __name__ == "__main__":
    main(*sys.argv[1:])
