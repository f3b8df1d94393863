"""Admission: callers with and without credentials, stored or not, and the root user."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from pydantic import SecretStr

from lakewarden.config.settings import Settings, check
from lakewarden.kernel.errors import BadInput
from lakewarden.service import token
from lakewarden.service.actor import SYSTEM
from lakewarden.systems.datahub.settings import DataHubSettings
from tests.systems.datahub.http.native import CREATE, ME, PASSWORD, TOKEN, Site, user

GRAPHQL = ("POST", "/api/graphql", {"query": "{ me { corpUser { urn } } }"})
REST = ("GET", "/entitiesV2/urn%3Ali%3Acorpuser%3Azoe", None)
EXISTENCE = "METADATA_SERVICE_AUTH_ENFORCE_EXISTENCE_ENABLED"


def open_site(tmp_path: Path, **datahub: Any) -> Site:
    return Site(f"sqlite:///{tmp_path}/store", **datahub)


def token_of(site: Site, name: str) -> str:
    return site.service.write(
        SYSTEM, lambda transaction: token.issue(transaction, name, "datahub", seconds=99)
    ).text


# Existence


@pytest.mark.parametrize("call", [GRAPHQL, REST], ids=["GraphQL", "REST"])
def test_who_is_stored_nowhere_is_turned_away(tmp_path: Path, call: tuple[Any, ...]) -> None:
    with open_site(tmp_path) as site:
        answer = site.send(*call, token=token_of(site, "zoe"))
        assert answer.status == 403
        assert b"`urn:li:corpuser:zoe` does not exist" in answer.body


@pytest.mark.parametrize("call", [GRAPHQL, REST], ids=["GraphQL", "REST"])
def test_with_the_switch_off_it_need_not_be_stored(tmp_path: Path, call: tuple[Any, ...]) -> None:
    with open_site(tmp_path, existence=False) as site:
        assert site.send(*call, token=token_of(site, "zoe")).status == 200


@pytest.mark.parametrize("call", [GRAPHQL, REST], ids=["GraphQL", "REST"])
@pytest.mark.parametrize("by", ["directory", "aspect"])
def test_who_is_of_the_directory_or_has_an_aspect_is_there(
    tmp_path: Path, call: tuple[Any, ...], by: str
) -> None:
    with open_site(tmp_path) as site:
        if by == "directory":
            site.put_person("zoe")
        else:
            aspect = {"contentType": "application/json", "value": '{"active": true}'}
            proposal = {
                "entityType": "corpuser",
                "entityUrn": user("zoe"),
                "changeType": "UPSERT",
                "aspectName": "corpUserInfo",
                "aspect": aspect,
            }
            body = {"proposal": proposal}
            made = site.send("POST", "/aspects?action=ingestProposal", body, token=TOKEN)
            assert made.status == 200
        assert site.send(*call, token=token_of(site, "zoe")).status == 200


def test_the_administrator_and_root_are_always_there(tmp_path: Path) -> None:
    with open_site(tmp_path) as site:
        assert site.send(*GRAPHQL, token=TOKEN).status == 200
        assert site.send(*GRAPHQL, token=token_of(site, "datahub")).status == 200


def test_what_everybody_may_read_is_read_by_those_too(tmp_path: Path) -> None:
    with open_site(tmp_path) as site:
        assert site.send("GET", "/config", token=token_of(site, "zoe")).status == 200


# No credentials


@pytest.mark.parametrize("call", [GRAPHQL, REST], ids=["GraphQL", "REST"])
def test_without_credentials_nobody_comes_in(tmp_path: Path, call: tuple[Any, ...]) -> None:
    with open_site(tmp_path) as site:
        assert site.send(*call).status == 401
        assert site.send(*call, token="lw_wrong").status == 401


def test_a_stranger_is_told_so_in_the_way_of_the_interface(tmp_path: Path) -> None:
    with open_site(tmp_path) as site:
        told = json.loads(site.send(*GRAPHQL).body)
        (error,) = told.pop("errors")
        assert told == {"data": None, "message": "credentials are required"}
        assert error == {
            "message": "credentials are required",
            "extensions": {
                "code": 401,
                "type": "UNAUTHENTICATED",
                "classification": "DataFetchingException",
            },
        }
        assert json.loads(site.send(*REST).body)["exceptionClass"].endswith(
            "RestLiServiceException"
        )


@pytest.mark.parametrize("call", [GRAPHQL, REST], ids=["GraphQL", "REST"])
def test_with_authentication_off_they_are_those_of_the_actor(
    tmp_path: Path, call: tuple[Any, ...]
) -> None:
    with open_site(tmp_path, auth=False) as site:
        assert site.send(*call).status == 200
        assert site.send("GET", "/api/metalakes").status == 401
        assert site.send("GET", "/api/v1/whoami").status == 401


def test_with_authentication_off_the_actor_is_root_or_whom_the_operator_names(
    tmp_path: Path,
) -> None:
    with open_site(tmp_path, auth=False) as site:
        assert b"urn:li:corpuser:datahub" in site.send(*GRAPHQL).body
    with open_site(tmp_path, auth=False, actor="admin") as site:
        assert b"urn:li:corpuser:admin" in site.send(*GRAPHQL).body
        spoofed = site.send(*GRAPHQL, x_datahub_actor="urn:li:corpuser:datahub")
        assert b"urn:li:corpuser:admin" in spoofed.body


def test_with_authentication_off_wrong_credentials_are_still_wrong(tmp_path: Path) -> None:
    with open_site(tmp_path, auth=False) as site:
        assert site.send(*GRAPHQL, token="lw_wrong").status == 401
        assert site.send(*GRAPHQL, cookie="wrong").status == 401
        assert site.send(*GRAPHQL, authorization="Digest x").status == 401


def test_what_is_off_is_said_and_not_open_to_other_machines() -> None:
    off = Settings(datahub=DataHubSettings(auth=False, existence=False))
    said = " ".join(off.weakened)
    assert "`datahub.auth` is off" in said
    assert "`datahub.existence` is off" in said
    elsewhere = off.model_copy(update={"host": "0.0.0.0", "auth": "token"})  # noqa: S104
    with pytest.raises(BadInput, match=r"`datahub\.auth` is off"):
        check(elsewhere)
    check(elsewhere.model_copy(update={"insecure": True}))


# Root


def test_without_a_password_nobody_signs_in_as_root(tmp_path: Path) -> None:
    with open_site(tmp_path) as site:
        assert {site.log_in("datahub", word).status for word in ("datahub", "", PASSWORD)} == {400}


def test_root_signs_in_with_what_the_operator_set_and_makes_tokens_of_its_own(
    tmp_path: Path,
) -> None:
    with open_site(tmp_path, root_password=SecretStr(PASSWORD)) as site:
        cookie = site.session("datahub")
        input = {
            "type": "PERSONAL",
            "actorUrn": user("datahub"),
            "duration": "ONE_DAY",
            "name": "x",
        }
        made = site.graphql(CREATE, cookie=cookie, i=input)["data"]["createAccessToken"]
        found = site.graphql(ME, token=made["accessToken"])["data"]["me"]["corpUser"]
        assert found["urn"] == user("datahub")
        again = site.graphql(CREATE, token=made["accessToken"], i=input)
        assert again["errors"][0]["extensions"]["code"] == 403
        refused = site.graphql(CREATE, i=input)
        assert refused["errors"][0]["extensions"]["code"] == 403


def test_a_configured_password_of_root_counts_from_the_next_start_on(tmp_path: Path) -> None:
    with open_site(tmp_path, root_password=SecretStr(PASSWORD)) as site:
        cookie = site.session("datahub")
    with open_site(tmp_path, root_password=SecretStr(PASSWORD)) as site:
        assert site.me(cookie) == user("datahub")
    with open_site(tmp_path) as site:
        assert site.log_in("datahub").status == 200
    with open_site(tmp_path, root_password=SecretStr("another horse 8")) as site:
        assert site.me(cookie) is None
        assert site.log_in("datahub").status == 400
        assert site.log_in("datahub", "another horse 8").status == 200


def test_the_password_of_root_may_stand_in_a_file(tmp_path: Path) -> None:
    file = tmp_path / "root"
    file.write_text(f"{PASSWORD}\n")
    with open_site(tmp_path, root_password_file=file) as site:
        assert site.log_in("datahub").status == 200


def test_a_password_of_root_that_is_easily_guessed_is_refused() -> None:
    with pytest.raises(BadInput, match="too weak"):
        check(Settings(datahub=DataHubSettings(root_password=SecretStr("datahub1"))))


def test_of_two_ways_to_set_it_one_is_enough(tmp_path: Path) -> None:
    both = DataHubSettings(root_password=SecretStr(PASSWORD), root_password_file=tmp_path / "x")
    with pytest.raises(BadInput, match="set only one"):
        check(Settings(datahub=both))
