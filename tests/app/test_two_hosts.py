"""Servers on one PostgreSQL that share nothing else, like on several hosts."""

from collections.abc import Iterator

import pytest

from tests import servers
from tests.app.serving import Answer, Served, server

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def hosts(
    postgres_url: str, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[Served, Served]]:
    folder = tmp_path_factory.mktemp("hosts")
    with (
        servers.fresh_database(postgres_url, stores=True) as url,
        server(folder / "a", database=url) as one,
        server(folder / "b", database=url) as other,
    ):
        yield one, other


def _make(served: Served, name: str) -> Answer:
    body = {"name": name, "comment": "", "properties": {}}
    return served.ask("POST", "/api/metalakes", body, user="admin")


def test_a_write_on_one_is_seen_on_the_other_before_it_decides(
    hosts: tuple[Served, Served],
) -> None:
    one, other = hosts
    for at in range(10):
        writer, reader = (one, other) if at % 2 else (other, one)
        made = _make(writer, f"m{at}")
        assert made.status == 200
        answer = reader.ask("GET", f"/api/metalakes/m{at}", user="admin")
        assert answer.status == 200
        assert answer.revision >= made.revision


def test_who_accepts_an_age_and_names_a_revision_still_gets_it(
    hosts: tuple[Served, Served],
) -> None:
    one, other = hosts
    other.ask("GET", "/api/metalakes", user="admin")
    made = _make(one, "m")
    stale = other.ask("GET", "/api/metalakes?consistency=60", user="admin")
    assert stale.revision < made.revision
    headers = {"Lakewarden-Consistency": "60", "Lakewarden-At-Least": str(made.revision)}
    exact = other.ask("GET", "/api/metalakes", headers=headers, user="admin")
    assert exact.revision >= made.revision
