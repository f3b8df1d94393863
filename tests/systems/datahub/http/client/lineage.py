"""Writes lineage with the client and reads it back, against the server: `URL TOKEN`.

Run by the Python that has the client installed.
"""

from __future__ import annotations

import sys

from datahub.ingestion.graph.client import DatahubClientConfig, DataHubGraph  # type: ignore[import-not-found]
from datahub.sdk import DataHubClient, Dataset  # type: ignore[import-not-found]


def dataset(name: str) -> str:
    return f"urn:li:dataset:(urn:li:dataPlatform:hive,made.{name},PROD)"


RAW, CLEAN, MART = (dataset(name) for name in ("raw", "clean", "mart"))


def main(url: str, token: str) -> None:
    graph = DataHubGraph(DatahubClientConfig(server=url, token=token))
    client = DataHubClient(graph=graph)
    for name in ("raw", "clean", "mart"):
        columns = [("id", "bigint"), (name, "string")]
        client.entities.upsert(Dataset(platform="hive", name=f"made.{name}", schema=columns))
    for up, down in ((RAW, CLEAN), (CLEAN, MART)):
        client.lineage.add_lineage(upstream=up, downstream=down, column_lineage={"id": ["id"]})
    tables(client)
    columns_of(client)
    related = list(
        graph.get_related_entities(RAW, ["DownstreamOf"], graph.RelationshipDirection.INCOMING)
    )
    assert [one.urn for one in related] == [CLEAN], related
    print("all: ok")


def tables(client: DataHubClient) -> None:
    def found(urn: str, direction: str, hops: int) -> list[tuple[str, int]]:
        got = client.lineage.get_lineage(source_urn=urn, direction=direction, max_hops=hops)
        return [(one.urn, one.hops) for one in got]

    assert found(RAW, "downstream", 1) == [(CLEAN, 1)]
    assert found(RAW, "downstream", 3) == [(CLEAN, 1), (MART, 2)]
    assert found(MART, "upstream", 2) == [(CLEAN, 1), (RAW, 2)]
    assert found(MART, "downstream", 3) == []


def columns_of(client: DataHubClient) -> None:
    (one, two) = client.lineage.get_lineage(
        source_urn=MART, source_column="id", direction="upstream", max_hops=3
    )
    assert (one.urn, two.urn) == (
        f"urn:li:schemaField:({CLEAN},id)",
        f"urn:li:schemaField:({RAW},id)",
    )
    assert [path.column_name for path in two.paths] == ["id", "id", "id"]


if __name__ == "__main__":
    main(*sys.argv[1:])
