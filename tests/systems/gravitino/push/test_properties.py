"""Properties of authorization plugins: required ones, and errors."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from lakewarden.kernel.errors import BadInput
from lakewarden.systems.gravitino.push.properties import Plugin, plugins
from tests.systems.gravitino.http.small_lake import ML, REL
from tests.systems.gravitino.http.wire import Wire

JDBC = {
    "authorization.jdbc.url": "jdbc:postgresql://db.example/shop",
    "authorization.jdbc.username": "keeper",
    "authorization.jdbc.password": "s3:c/ret",
    "authorization.jdbc.driver": "org.postgresql.Driver",
}
RANGER = {
    "authorization.ranger.admin.url": "https://ranger.example:6182/",
    "authorization.ranger.service.type": "HadoopSQL",
    "authorization.ranger.service.name": "hiveDev",
    "authorization.ranger.auth.type": "simple",
    "authorization.ranger.username": "admin",
    "authorization.ranger.password": "rangerR0cks!",
}


def chained(name: str, properties: Mapping[str, str], provider: str) -> dict[str, str]:
    """The properties of one plugin of a chain."""
    begin = f"authorization.chain.{name}."
    own = {begin + key.removeprefix("authorization."): value for key, value in properties.items()}
    return {**own, f"{begin}provider": provider}


CHAIN = {
    "authorization-provider": "chain",
    "authorization.chain.plugins": "hive1, db1",
    **chained("hive1", RANGER, "ranger"),
    **chained("db1", JDBC, "jdbc"),
}


def provided(provider: str, properties: Mapping[str, str], without: str = "") -> dict[str, str]:
    own = {"authorization-provider": provider, **properties}
    return {key: value for key, value in own.items() if key != without}


def test_a_database_is_named_by_its_address() -> None:
    (found,) = plugins(provided("JDBC", JDBC))
    address = "postgresql://keeper:s3%3Ac%2Fret@db.example:5432/shop"
    assert found == Plugin("jdbc", "postgresql", address, "db.example:5432/shop", "postgresql")


def test_a_service_of_ranger_is_named_by_its_admin_and_name() -> None:
    (found,) = plugins(provided("ranger", RANGER))
    address = "ranger+https://admin:rangerR0cks%21@ranger.example:6182/hiveDev"
    assert found == Plugin("ranger", "ranger", address, "ranger.example:6182/hiveDev", "hive")


@pytest.mark.parametrize("is_chained", [False, True])
def test_a_service_of_hdfs_is_the_file_system_of_the_catalog(is_chained: bool) -> None:
    hdfs = {**RANGER, "authorization.ranger.service.type": "hdfs"}
    properties = provided("ranger", hdfs)
    if is_chained:
        properties = {
            "authorization-provider": "chain",
            "authorization.chain.plugins": "files",
            **chained("files", hdfs, "ranger"),
        }
    (found,) = plugins({**properties, "location": "hdfs://nn:8020/user/lake"})
    place = "ranger.example:6182/hiveDev?file_system=hdfs%3A%2F%2Fnn%3A8020"
    assert (found.kind, found.setting, found.unready) == ("ranger", "hdfs", "")
    assert (found.place, found.address.partition("@")[2]) == (place, place)
    for location in ({}, {"location": "/user/lake"}, {"location": "hdfs:///user/lake"}):
        (found,) = plugins({**properties, **location})
        assert found.unready.startswith("set the property `location` of the catalog")
        assert found.place == "ranger.example:6182/hiveDev"


@pytest.mark.parametrize(
    ("locations", "host"),
    [
        ({"location-eu": "hdfs://nn:8020/eu", "location-us": "hdfs://nn:8020/us"}, "nn%3A8020"),
        ({"location-eu": "hdfs://nn:8020/eu", "location-us": "hdfs://other:8020/us"}, ""),
        (
            {
                "location-eu": "hdfs://nn:8020/eu",
                "location-us": "hdfs://other:8020/us",
                "default-location-name": "us",
            },
            "other%3A8020",
        ),
        ({"location": "hdfs://nn:8020/eu", "location-us": "hdfs://other:8020/us"}, "nn%3A8020"),
        ({"location": "/eu", "location-us": "hdfs://other:8020/us"}, "other%3A8020"),
    ],
)
@pytest.mark.parametrize("is_chained", [False, True])
def test_the_file_system_is_that_of_named_locations(
    locations: Mapping[str, str], host: str, is_chained: bool
) -> None:
    hdfs = {**RANGER, "authorization.ranger.service.type": "hdfs"}
    properties = provided("ranger", hdfs)
    if is_chained:
        properties = {
            "authorization-provider": "chain",
            "authorization.chain.plugins": "files",
            **chained("files", hdfs, "ranger"),
        }
    (found,) = plugins({**properties, **locations})
    assert found.address.partition("?file_system=hdfs%3A%2F%2F")[2] == host
    assert bool(found.unready) is not bool(host)


def test_a_chain_has_its_plugins_in_order() -> None:
    found = [(one.name, one.kind) for one in plugins(CHAIN)]
    assert found == [("chain.hive1", "ranger"), ("chain.db1", "postgresql")]


def test_without_a_provider_there_is_none() -> None:
    assert plugins({**JDBC, **RANGER}) == []


REFUSED: Mapping[str, Mapping[str, str]] = {
    "No authorization provider found for: sentry": provided("sentry", {}),
    "No authorization provider found for: chain": {
        **CHAIN,
        "authorization.chain.db1.provider": "chain",
    },
    **{f"{key} is required": provided("jdbc", JDBC, key) for key in JDBC},
    **{f"{key} is required": provided("ranger", RANGER, key) for key in RANGER},
    "Unsupported service type: KAFKA": provided(
        "ranger", {**RANGER, "authorization.ranger.service.type": "kafka"}
    ),
    "authorization.chain.plugins is required": provided("chain", {}),
    "authorization.chain.plugins must have at least one plugin name": provided(
        "chain", {"authorization.chain.plugins": " , "}
    ),
    "Duplicate plugin name in authorization.chain.plugins: [a, a]": provided(
        "chain", {"authorization.chain.plugins": "a,a"}
    ),
    "Plugin name cannot be contain `.` character in the `authorization.chain.plugins = a.b`.": (
        provided("chain", {"authorization.chain.plugins": "a.b"})
    ),
    "The key authorization.chain.c.provider does not match the pattern"
    " ^authorization\\.chain\\.(hive1|db1)\\..*$": {
        **CHAIN,
        "authorization.chain.c.provider": "jdbc",
    },
    "authorization.jdbc.url is required": {
        key: value for key, value in CHAIN.items() if key != "authorization.chain.db1.jdbc.url"
    },
    "authorization.chain.db1.provider is required": {
        key: value for key, value in CHAIN.items() if key != "authorization.chain.db1.provider"
    },
    "a JDBC address begins with `jdbc:`": provided(
        "jdbc", {**JDBC, "authorization.jdbc.url": "postgresql://db.example/shop"}
    ),
    "authorization.ranger.admin.url is not an address: expected `http(s)://HOST`": provided(
        "ranger", {**RANGER, "authorization.ranger.admin.url": "file:///etc/passwd"}
    ),
}


@pytest.mark.parametrize("message", REFUSED)
def test_a_wrong_property_is_refused(message: str) -> None:
    with pytest.raises(BadInput) as refused:
        plugins(REFUSED[message])
    assert str(refused.value) == message


@pytest.mark.parametrize(
    ("provider", "key", "address"),
    [
        ("jdbc", "authorization.jdbc.url", "jdbc:mysql://[::1/shop"),
        ("jdbc", "authorization.jdbc.url", "jdbc:mysql://db.example:port/shop"),
        ("ranger", "authorization.ranger.admin.url", "http://[::1"),
        ("ranger", "authorization.ranger.admin.url", "http://ranger.example:port"),
    ],
)
def test_an_address_that_is_none_is_refused(provider: str, key: str, address: str) -> None:
    every = {"jdbc": JDBC, "ranger": RANGER}
    with pytest.raises(BadInput, match="address"):
        plugins(provided(provider, {**every[provider], key: address}))


@pytest.mark.parametrize("path", [f"{ML}/catalogs", f"{ML}/catalogs/testConnection"])
def test_an_address_that_is_none_is_refused_over_http(lake: Wire, path: str) -> None:
    properties = provided("jdbc", JDBC, "authorization.jdbc.url")
    body = {"name": "new", "type": "relational", "provider": "hive", "properties": properties}
    _, answer = lake.ask("POST", path, body)
    assert (answer["code"], answer["type"]) == (1001, "IllegalArgumentException")
    assert answer["message"] == "authorization.jdbc.url is required"


@pytest.mark.parametrize(
    ("update", "word"),
    [
        ({"@type": "setProperty", "property": "authorization-provider", "value": "jdbc"}, "set"),
        ({"@type": "removeProperty", "property": "authorization-provider"}, "deleted"),
    ],
)
def test_the_provider_does_not_change(lake: Wire, update: Mapping[str, str], word: str) -> None:
    status, answer = lake.ask("PUT", REL, {"updates": [update]})
    assert (status, answer["code"]) == (400, 1001)
    assert answer["message"] == (
        f"Property authorization-provider is immutable or reserved, cannot be {word}"
    )
