"""Callers with permission in some realms only: the answers of the command line and AuthZEN."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import pytest

from lakewarden.cli import main
from tests.app.serving import Served
from tests.app.threaded import threaded
from tests.cli.realms import Cli, write_gravitino, write_realm

TABLE, DATASET = "table:lk:c.s.t", "dataset:s.t"
URN = "urn:li:dataset:(urn:li:dataPlatform:hive,s.t,PROD)"
POLICY = {"id": "urn:li:dataHubPolicy:page", "privileges": ["VIEW_ENTITY_PAGE"]}
ALL = ("cdap", "datahub", "gravitino")


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """Three linked realms: `clerk` may ask in two of them, `gate` in one, `boss` everywhere.

    `looker` may ask everywhere, but gets no explanations.

    The table and the dataset are linked only through DataHub, where `dora` may see the page.
    """
    folder = tmp_path_factory.mktemp("partial")
    url = f"sqlite:///{folder / 'store.db'}"
    write_gravitino(folder / "gravitino")
    write_realm(
        folder / "cdap",
        "cdap",
        entities=["namespace:s", DATASET],
        principals=["user:zoe", "user:ana"],
        statements=[{"id": "etl", "privileges": ["READ"], "to": ["user:zoe"], "on": DATASET}],
    )
    write_realm(
        folder / "datahub",
        "datahub",
        entities=[URN],
        principals=["dora", "ana"],
        statements=[{**POLICY, "to": ["user:urn:li:corpuser:dora"]}],
    )
    assert main(["init", "--admin", "root", "--database", url]) == 0
    for realm in ALL:
        assert main(["load", str(folder / realm), "--realm", realm, "--database", url]) == 0
    for ends in ((f"gravitino={TABLE}", f"datahub={URN}"), (f"datahub={URN}", f"cdap={DATASET}")):
        assert main(["link", "add", *ends, "--database", url]) == 0
    with threaded(folder / "served", auth="simple", database=url) as running:
        rights = {"clerk": ALL[::2], "gate": ALL[2:], "boss": ALL, "looker": ALL}
        for user, realms in rights.items():
            for realm in realms:
                words = ["ASK"] if user == "looker" else ["ASK", "EXPLAIN"]
                right = {"privileges": words, "to": [f"user:{user}"], "on": f"realm:{realm}"}
                path = f"/api/v1/realms/_server/statements/{user}-{realm}"
                answer = running.ask("PUT", path, right, user="root")
                assert answer.status < 300, answer.body
        yield running


Ask = Callable[..., Any]


@pytest.fixture
def ask(cli: Cli, served: Served) -> Ask:
    """A question on the command line, as a user; returns the answer as JSON."""

    def ask(user: str, *words: str, realms: Sequence[str] = ()) -> Any:
        named = [word for realm in realms for word in ("--realm", realm)] or ["--all-realms"]
        at = ("--server", served.address, "--user", user, "--format", "json")
        found = cli(*words, *named, *at)
        assert found.code in (0, 1), found.err
        return json.loads(found.out)

    return ask


QUESTIONS = {
    "who": ("who", "see", TABLE),
    "list": ("list", "ana", "see"),
    "explain": ("explain", "ana", "see", TABLE),
    "access": ("access", TABLE),
}


def realms_of(answer: Any) -> set[str]:
    """The realms in an answer, except those left out."""
    return {str(name) for name in ALL if name in json.dumps({**answer, "left_out": []})}


@pytest.mark.by_day(6)
@pytest.mark.parametrize("verb", QUESTIONS)
@pytest.mark.parametrize(
    ("user", "hidden"), [("boss", []), ("clerk", ["datahub"]), ("gate", ["cdap", "datahub"])]
)
def test_only_realms_in_which_one_may_ask_answer_and_the_others_are_named(
    verb: str, user: str, hidden: list[str], ask: Ask
) -> None:
    found = ask(user, *QUESTIONS[verb])
    assert found["left_out"] == hidden
    assert not realms_of(found) & set(hidden)
    # Named or not, the realm is left out, and reveals nothing.
    assert ask(user, *QUESTIONS[verb], realms=ALL) == {**found, "left_out": hidden}


def test_what_meets_over_a_hidden_realm_alone_does_not_meet(ask: Ask) -> None:
    for user, others in (("boss", {"dora", "zoe"}), ("clerk", set()), ("gate", set())):
        people = {one["person"] for one in ask(user, "access", TABLE)["people"]}
        assert people & {"ana", "dora", "zoe"} == {"ana", *others}
    assets = [one["realm"] for one in ask("clerk", "access", TABLE)["assets"]]
    assert assets == ["gravitino"]
    union = [one["person"] for one in ask("clerk", "who", "read", DATASET)["union"]]
    assert union == ["zoe"]


def test_without_the_right_to_explain_nobody_learns_by_what(ask: Ask) -> None:
    for user, told in (("clerk", True), ("looker", False)):
        found = ask(user, "access", TABLE, "--way", "read")
        assert {by["told"] for one in found["people"] for by in one["by"]} == {told}
        shown = {s["id"] for one in found["people"] for by in one["by"] for s in by["statements"]}
        assert shown == ({"read"} if told else set())
    found = ask("looker", "who", "see", TABLE)
    assert (found["left_out"], {one["realm"] for one in found["realms"]}) == ([], set(ALL))


@pytest.mark.parametrize("verb", QUESTIONS)
def test_who_may_ask_nowhere_is_refused_and_learns_nothing(
    verb: str, cli: Cli, served: Served
) -> None:
    at = ("--all-realms", "--server", served.address, "--user", "nobody")
    found = cli(*QUESTIONS[verb], *at)
    assert found.code == 2
    assert found.out == ""
    assert "`nobody` may not" in found.err
    assert not any(name in found.err for name in ("dora", "zoe", "etl"))


def test_people_are_told_on_a_terminal_what_was_left_out(cli: Cli, served: Served) -> None:
    at = ("--all-realms", "--server", served.address, "--user", "clerk")
    for words in QUESTIONS.values():
        found = cli(*words, *at)
        assert "datahub" in found.err
        assert "left out" in found.err
        assert "datahub" not in found.out


def search(served: Served, what: str, user: str, body: dict[str, Any], realms: Any = "*") -> Any:
    asking = {**body, "context": {"realms": realms}}
    answer = served.ask("POST", f"/access/v1/search/{what}", asking, user=user)
    assert answer.status == 200, answer.body
    return answer.json()


@pytest.mark.parametrize(
    ("user", "hidden"), [("boss", []), ("clerk", ["datahub"]), ("gate", ["cdap", "datahub"])]
)
def test_searches_over_authzen_leave_out_the_same(
    user: str, hidden: list[str], served: Served
) -> None:
    table = {"type": "table", "id": "lk:c.s.t", "properties": {"realm": "gravitino"}}
    who = {"subject": {"type": "user"}, "action": {"name": "see"}, "resource": table}
    ana = {"type": "user", "id": "ana"}
    questions = {
        "subject": who,
        "resource": {**who, "subject": ana, "resource": {"type": "dataset"}},
        "action": {"subject": ana, "resource": table},
    }
    for what, body in questions.items():
        for realms in ("*", list(ALL)):
            found = search(served, what, user, body, realms)
            assert found["context"]["left_out"] == hidden
            assert not set(hidden) & set(found["context"]["realms"])
            text = json.dumps(found["results"])
            assert not any(name in text for name in hidden)
    subjects = {one["id"] for one in search(served, "subject", user, who)["results"]}
    assert ("dora" in subjects, "zoe" in subjects) == (user == "boss", user == "boss")
