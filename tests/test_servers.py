"""The test servers have the properties that the tests presume."""

from __future__ import annotations

import sqlalchemy


def _ask(url: str, question: str) -> list[object]:
    engine = sqlalchemy.create_engine(url)
    try:
        with engine.connect() as connection:
            return list(connection.scalars(sqlalchemy.text(question)))
    finally:
        engine.dispose()


def test_postgres_answers_as_a_superuser(postgres_url: str) -> None:
    assert _ask(postgres_url, "select current_setting('is_superuser')") == ["on"]


def test_mariadb_answers_and_may_create_accounts(mariadb_url: str) -> None:
    assert "MariaDB" in str(_ask(mariadb_url, "select version()"))
    assert "GRANT OPTION" in str(_ask(mariadb_url, "show grants"))
