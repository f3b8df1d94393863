"""Settings of a PostgreSQL change neither what a push sends nor what it finds."""

from __future__ import annotations

from dataclasses import replace

import pytest

from lakewarden.kernel.principal import Principal
from tests.pushdown.postgresql_estate import Estate, administrator, estate
from tests.pushdown.test_postgresql_escapes import BO, FILTER, READS, facts

SETTINGS = (
    "standard_conforming_strings = off",
    "transform_null_equals = on",
    "quote_all_identifiers = on",
    "DateStyle = 'German'",
    "TimeZone = 'Asia/Tokyo'",
)


def regions(made: Estate, user: Principal) -> list[str | None]:
    with made.as_user(user) as connection:
        return [region for (region,) in connection.execute("SELECT region FROM s.orders")]


@pytest.mark.by_day(1)
@pytest.mark.parametrize(
    "where",
    [
        r"note = '\'' or true)) with check (true) -- '",
        "region = null",
        "timestamp '2024-01-31 12:00:00' < timestamp '2024-01-31 12:00:00'",
    ],
)
def test_conditions_mean_the_same_under_any_settings(postgres_url: str, where: str) -> None:
    with estate(postgres_url, facts(READS, replace(FILTER, expression=where))) as made:
        with administrator(made.address.url) as own:
            for setting in SETTINGS:
                own.execute(f"ALTER DATABASE {own.info.dbname} SET {setting}")
            made.push()
            assert regions(made, BO) == []
            before = made.managed_roles()
            own.execute(f"ALTER DATABASE {own.info.dbname} RESET ALL")
        assert made.managed_roles() == before
        _, steps = made.push(before)
        assert steps == 0
