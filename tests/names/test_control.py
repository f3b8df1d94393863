"""The spelling of the objects of our own API."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lakewarden.kernel.entity import Entity
from lakewarden.kernel.errors import BadInput, Unknown, WardenError
from lakewarden.names import control

NAMES = ["main", "0", "a-b_c", "x" * 63]


@pytest.mark.parametrize("name", NAMES)
def test_directories_and_realms_bear_simple_words(name: str) -> None:
    for type_ in ("directory", "realm"):
        entity = control.parse(type_, name)
        assert entity == Entity(type_, name)
        assert control.parts(entity) == (name,)
        assert control.parent(entity) == control.SERVER


def test_the_control_realm_is_the_one_that_begins_with_an_underscore() -> None:
    assert control.parse("realm", "_server") == Entity("realm", "_server")
    with pytest.raises(BadInput):
        control.parse("directory", "_server")


def test_there_is_one_server_at_the_top() -> None:
    assert control.parse("server", "lakewarden") == control.SERVER
    assert control.parent(control.SERVER) is None
    with pytest.raises(BadInput, match=r"^the server is called `lakewarden`, got `other`$"):
        control.parse("server", "other")


@pytest.mark.parametrize("name", ["", "_", "__a", "-a", "A", "a.b", "a/b", "ä", "x" * 64, "a\n"])
def test_anything_else_names_nothing(name: str) -> None:
    with pytest.raises(BadInput, match=r"cannot name a realm: expected 1 to 63") as refusal:
        control.parse("realm", name)
    assert str(refusal.value).isprintable()


def test_other_types_are_unknown() -> None:
    with pytest.raises(Unknown, match=r"^unknown type `table`; expected one of: server, "):
        control.parse("table", "a")


def test_there_are_no_wildcards() -> None:
    with pytest.raises(BadInput, match=r"^names of our own have no wildcards, got `realm:\*`$"):
        control.pattern("realm", "*")


@given(st.text(max_size=70))
def test_a_name_reads_as_itself_or_is_refused(text: str) -> None:
    outcome = parse_or_refusal(text)
    if isinstance(outcome, WardenError):
        assert str(outcome).isprintable()
    else:
        assert outcome == Entity("realm", text)


def parse_or_refusal(text: str) -> Entity | WardenError:
    try:
        return control.parse("realm", text)
    except WardenError as refusal:
        return refusal


DIRECTORIES = st.sampled_from(["main", "other", "a-b"])


@given(DIRECTORIES, st.text(min_size=1), DIRECTORIES, st.text(min_size=1))
def test_different_people_have_different_names(d1: str, n1: str, d2: str, n2: str) -> None:
    same = (d1, n1) == (d2, n2)
    assert (control.person_name(d1, n1) == control.person_name(d2, n2)) is same
    assert not control.person_name(d1, n1).startswith("/")


@given(DIRECTORIES, st.text(min_size=1))
def test_people_of_main_are_known_by_how_statements_call_them(directory: str, name: str) -> None:
    at_home = name if directory == "main" else None
    assert control.name_at_home(control.person_name(directory, name)) == at_home


@pytest.mark.parametrize(
    ("person", "name"),
    [("ana", "ana"), ("main/eng/data", "eng/data"), ("other/ana", None), ("main/ana", None)],
)
def test_only_people_of_main_have_a_name_there(person: str, name: str | None) -> None:
    assert control.name_at_home(person) == name
