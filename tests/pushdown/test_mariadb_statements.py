"""MariaDB's statements for the steps of a plan."""

from __future__ import annotations

import pytest

from lakewarden.pushdown.grants import NESTED_IN, Grant
from lakewarden.pushdown.mariadb_views import _shortened
from lakewarden.pushdown.plan import Act, Step
from tests.pushdown.mariadb_estate import empty_server

TABLE = ("raw", "orders")


def of(*steps: Step) -> list[str]:
    return [one.text for one in empty_server().of(steps)]


def revoked(role: str, *privileges: str, on: tuple[str, ...] = ()) -> list[Step]:
    return [Step(Act.REVOKE, role, grant=Grant(on, one)) for one in privileges]


def test_a_statement_takes_one_role() -> None:
    both = (NESTED_IN + "a", NESTED_IN + "b")
    steps = [*revoked("lw_x_1", *both), *revoked("lw_x_2", *both)]
    assert of(*steps) == [
        "REVOKE `a` FROM `lw_x_1`, `lw_x_2`",
        "REVOKE `b` FROM `lw_x_1`, `lw_x_2`",
    ]
    given = [Step(Act.GRANT, one.role, grant=one.grant) for one in revoked("lw_x_1", *both)]
    assert of(*given) == ["GRANT `a` TO `lw_x_1`", "GRANT `b` TO `lw_x_1`"]


def test_a_statement_takes_all_privileges_on_an_object() -> None:
    steps = [*revoked("lw_x_1", "SELECT", "INSERT", on=TABLE), *revoked("lw_x_1", NESTED_IN + "a")]
    assert sorted(of(*steps)) == [
        "REVOKE INSERT, SELECT ON `raw`.`orders` FROM `lw_x_1`",
        "REVOKE `a` FROM `lw_x_1`",
    ]


@pytest.mark.parametrize("act", [Act.DROP_VIEW, Act.ADD_VIEW, Act.GRANT, Act.REVOKE])
def test_a_step_that_says_nothing_is_an_error(act: Act) -> None:
    with pytest.raises(ValueError, match="without a"):
        of(Step(act, "lw_x_1"))


def test_the_name_of_a_view_has_a_file_that_file_systems_take() -> None:
    """MariaDB stores a view in a file, whose name has five characters for most special ones."""
    assert _shortened("sales.orders") == "sales.orders"
    assert len(_shortened("x" * 64 + "." + "y" * 64)) == 55
    assert len(_shortened("%" * 64)) == 40
