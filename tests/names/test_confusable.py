"""Names that look alike."""

import pytest

from lakewarden.names.confusable import folded_name


@pytest.mark.parametrize(
    "name",
    [
        "admin",
        "Admin",
        "ADMIN",
        "\uff41dmin",  # full width
        "\u0430dmin",  # Cyrillic
        "\u03b1dmin",  # Greek
        "adm\u0131n",  # dotless
        "ADM\u0130N",  # dotted
    ],
)
def test_names_that_read_like_another_are_folded_into_one(name: str) -> None:
    assert folded_name(name) == "admin"


def test_names_that_read_differently_stay_different() -> None:
    assert len({folded_name(name) for name in ("ana", "anna", "\u00e4na", "ana1", "ANA")}) == 4
