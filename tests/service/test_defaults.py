"""The default statements of a system, and which of them may be deleted."""

from __future__ import annotations

import pytest

from lakewarden.kernel.errors import BadInput, Unknown
from lakewarden.models import loads
from lakewarden.service.defaults import built_in, default_statements
from lakewarden.service.system import load_system, of_model


def ids(name: str, **settings: str) -> set[str]:
    return {s.id for s in default_statements(load_system(name, settings))}


def test_what_is_part_of_the_system_is_always_there() -> None:
    cdap = load_system("cdap")
    assert {s.id for s in built_in(cdap)} == {s.id for s in default_statements(cdap)} != set()
    datahub = load_system("datahub")
    assert {s.id for s in built_in(datahub)} < {s.id for s in default_statements(datahub)}


def test_the_bootstrap_setting_chooses_the_set() -> None:
    current, seed, closed = (ids("datahub", bootstrap=b) for b in ("current", "seed", "closed"))
    assert closed < current
    assert closed <= seed
    assert current != seed


def test_an_editable_default_stays_deleted_and_no_other_can_be() -> None:
    datahub = load_system("datahub")
    fixed = min(datahub.model.immutable_ids)
    gone = min({s.id for s in default_statements(datahub)} - datahub.model.immutable_ids)
    assert gone not in {s.id for s in default_statements(datahub, frozenset({gone}))}
    with pytest.raises(BadInput, match="cannot be deleted"):
        default_statements(datahub, frozenset({fixed}))
    with pytest.raises(BadInput, match="is not a default statement"):
        default_statements(datahub, frozenset({"nothing"}))


def test_a_default_has_an_id() -> None:
    text = '[model]\nname = "x"\ntitle = "x"\nversion = "1"\nsource = "x"\nspelling = "plain"\n'
    system = of_model(loads(text + '[[defaults]]\nto = ["all-users"]\n', "x.toml"))
    with pytest.raises(BadInput, match="expected a non-empty string"):
        default_statements(system)


def test_a_system_needs_a_known_spelling() -> None:
    text = '[model]\nname = "x"\ntitle = "x"\nversion = "1"\nsource = "x"\nspelling = "klingon"\n'
    with pytest.raises(BadInput, match="unknown spelling `klingon`; expected one of: cdap"):
        of_model(loads(text, "x.toml"))
    with pytest.raises(Unknown, match="model `klingon`"):
        load_system("klingon")
