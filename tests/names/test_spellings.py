"""Common properties of all spellings: round trips, parents, and unambiguous parsing."""

from __future__ import annotations

from string import ascii_letters, digits

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from lakewarden.kernel.entity import Entity, Spelling
from lakewarden.kernel.errors import BadInput, WardenError
from lakewarden.systems.cdap import names as cdap
from lakewarden.systems.datahub import names as datahub
from lakewarden.systems.gravitino import names as gravitino

SPELLINGS: dict[str, Spelling] = {"gravitino": gravitino, "datahub": datahub, "cdap": cdap}

_READABLE = st.characters(exclude_categories=("Cs", "Cc", "Zl", "Zp"))


def _texts(refused: str = "", size: int = 12) -> st.SearchStrategy[str]:
    alphabet = st.one_of(
        st.sampled_from([c for c in ascii_letters + digits + "_.:-$%/ ü" if c not in refused]),
        _READABLE.filter(lambda c: c not in refused),
    )
    return st.text(alphabet, min_size=1, max_size=size)


def _named(part: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    return part.filter(lambda text: text != "*" and not text.isspace())


@st.composite
def gravitino_entities(draw: st.DrawFn) -> Entity:
    lake = draw(_named(_texts(".:")))
    type_ = draw(st.sampled_from(gravitino.TYPES))
    if type_ == "metalake":
        return Entity(type_, lake)
    depths = {"catalog": 1, "schema": 2, "column": 4, "table": 3, "topic": 3, "fileset": 3}
    depth = depths.get(type_, 3 if type_ in ("model", "view", "function") else 0)
    if depth == 0:
        return Entity(type_, f"{lake}:{draw(_named(_texts()))}")
    part = _named(_texts("."))
    return Entity(type_, f"{lake}:{'.'.join(draw(part) for _ in range(depth))}")


_KEY = _texts("(),␟").map(str.strip).filter(lambda key: key and not key.startswith("urn:li:"))
_PLATFORM = _KEY.map("urn:li:dataPlatform:{}".format)
_ENVIRONMENT = st.sampled_from(sorted(datahub.ENVIRONMENTS))
_DATASET = st.builds("urn:li:dataset:({},{},{})".format, _PLATFORM, _KEY, _ENVIRONMENT)
_FLOW = st.builds("urn:li:dataFlow:({},{},{})".format, _KEY, _KEY, _KEY)
URNS = st.one_of(
    st.builds("urn:li:{}:{}".format, st.sampled_from(["tag", "corpuser", "newType"]), _KEY),
    _DATASET,
    _FLOW,
    st.builds("urn:li:schemaField:({},{})".format, st.one_of(_DATASET, _FLOW), _KEY),
    st.builds("urn:li:dataJob:({},{})".format, _FLOW, _KEY),
    st.builds("urn:li:newType:({},({},{}))".format, _DATASET, _KEY, _KEY),
)


@st.composite
def datahub_entities(draw: st.DrawFn) -> Entity:
    urn = draw(URNS)
    return Entity(urn.split(":")[2], urn)


@st.composite
def cdap_names(draw: st.DrawFn, also: str = "") -> tuple[str, str]:
    """A type and a name of it, possibly with characters of `also`."""
    type_ = draw(st.sampled_from(cdap.TYPES))
    word = ascii_letters + digits + "_" + also
    name = st.text(word + "-", min_size=1, max_size=6)
    namespace = draw(st.text(word, min_size=1, max_size=6))
    if type_ == "kerberosprincipal":
        readable = _READABLE.filter(lambda c: c in also or c not in "*?")
        return type_, draw(st.text(readable, min_size=1, max_size=12))
    if type_ == "namespace":
        return type_, namespace
    if type_ in ("instance", "system_service"):
        return type_, draw(name)
    if type_ == "program":
        kind = draw(st.sampled_from(cdap.PROGRAM_TYPES))
        return type_, f"{namespace}.{draw(name)}.{kind}.{draw(name)}"
    if type_.startswith("dataset"):
        name = st.text(word + "-$.", min_size=1, max_size=10)
    return type_, f"{namespace}.{draw(name)}"


def cdap_entities() -> st.SearchStrategy[Entity]:
    return cdap_names().map(lambda pair: Entity(*pair))


ENTITIES: dict[str, st.SearchStrategy[Entity]] = {
    "gravitino": gravitino_entities(),
    "datahub": datahub_entities(),
    "cdap": cdap_entities(),
}

each_system = pytest.mark.parametrize("system", sorted(SPELLINGS))


@each_system
@given(data=st.data())
def test_a_canonical_name_reads_as_itself(system: str, data: st.DataObject) -> None:
    entity = data.draw(ENTITIES[system])
    assert SPELLINGS[system].parse(*entity) == entity


@each_system
@given(data=st.data())
def test_parents_are_canonical_shorter_and_spelt_by_the_child(
    system: str, data: st.DataObject
) -> None:
    spelling = SPELLINGS[system]
    entity = data.draw(ENTITIES[system])
    parent = spelling.parent(entity)
    while parent is not None:
        assert spelling.parse(*parent) == parent
        assert len(parent.name) < len(entity.name)
        inner, outer = spelling.parts(entity), spelling.parts(parent)
        if system == "datahub":
            assert parent.name in entity.name
        else:
            assert inner[: len(outer)] == outer
            assert entity.name.startswith(parent.name)
        entity, parent = parent, spelling.parent(parent)


@each_system
@given(data=st.data())
def test_different_names_have_different_parts(system: str, data: st.DataObject) -> None:
    one, other = data.draw(ENTITIES[system]), data.draw(ENTITIES[system])
    parts = SPELLINGS[system].parts
    if one.type == other.type and one.name != other.name:
        assert parts(one) != parts(other)


@pytest.mark.parametrize(
    ("system", "type_", "text"),
    [("gravitino", "table", "lk:c.s.*"), ("datahub", "tag", "urn:li:tag:*")],
)
def test_only_cdap_has_wildcards(system: str, type_: str, text: str) -> None:
    with pytest.raises(BadInput, match="have no wildcards") as refusal:
        SPELLINGS[system].pattern(type_, text)
    assert f"`{type_}:{text}`" in str(refusal.value)


_ANY_TYPE = st.one_of(
    st.sampled_from([*gravitino.TYPES, *cdap.TYPES, *cdap.CHECKED_INSTEAD, "corpuser", "platform"]),
    st.text(max_size=6),
)
_ANY_TEXT = st.one_of(
    st.text(max_size=40),
    st.text("urn:li.ab*?(),/@ \x00\u200b", max_size=40),
    st.text("urn:li.ab(),", max_size=30).map("urn:li:box:({})".format),
)


@each_system
@given(type_=_ANY_TYPE, text=_ANY_TEXT)
@example(type_="", text="")
@example(type_="", text="urn:li:a:" + "(urn:li:a:" * 150)
@example(type_="user", text="lk:\ud800")
def test_any_text_is_read_once_and_for_all_or_refused_in_one_line(
    system: str, type_: str, text: str
) -> None:
    spelling = SPELLINGS[system]
    outcome = parse_or_refusal(spelling, type_, text)
    if isinstance(outcome, WardenError):
        assert str(outcome).isprintable()
        assert len(str(outcome)) < 600
        return
    if outcome.type:
        assert spelling.parse(*outcome) == outcome
    spelling.parent(outcome)
    assert spelling.parts(outcome)


def parse_or_refusal(spelling: Spelling, type_: str, text: str) -> Entity | WardenError:
    try:
        return spelling.parse(type_, text)
    except WardenError as refusal:
        return refusal


@given(gravitino_entities())
def test_gravitino_s_wire_form_comes_back(entity: Entity) -> None:
    lake, full = gravitino.metalake(entity), gravitino.full_name(entity)
    assert gravitino.entity(lake, entity.type.upper(), full) == entity


@given(cdap_entities())
def test_cdap_s_id_and_bodies_come_back(entity: Entity) -> None:
    assert cdap.parse_id(cdap.format_id(entity)) == entity
    assert cdap.from_authorizable(cdap.to_authorizable(entity)) == entity
    if entity.type not in ("profile", "system_service"):
        assert cdap.from_authorizable(cdap.to_legacy(entity)) == entity


@given(cdap_names(also="*?"))
def test_cdap_s_patterns_come_back(pair: tuple[str, str]) -> None:
    pattern = cdap.parse_pattern(*pair)
    assert cdap.parse_pattern_id(cdap.format_id(pattern)) == pattern
    body = cdap.from_authorizable(cdap.to_authorizable(pattern))
    assert cdap.format_id(body) == cdap.format_id(pattern)


@given(cdap_entities())
def test_a_cdap_name_is_a_pattern_that_covers_itself(entity: Entity) -> None:
    assert cdap.covers(cdap.parse_pattern(*entity), entity)


@given(URNS)
def test_a_urn_is_its_type_and_key_parts(urn: str) -> None:
    parts = datahub.key_parts(urn)
    key = parts[0] if len(parts) == 1 else f"({','.join(parts)})"
    assert f"urn:li:{datahub.urn_type(urn)}:{key}" == urn
