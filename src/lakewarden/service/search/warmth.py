"""A realm made ready for its first search, which would otherwise wait for columns to be made."""

from __future__ import annotations

from typing import Final

from lakewarden.service.plane import Plane
from lakewarden.service.search.index import Index
from lakewarden.service.search.texts import Texts

MODEL: Final = "datahub"
"""Realms of this model are searched."""


def prepare(plane: Plane) -> None:
    """Makes the columns of every realm that is searched; raises `Unavailable`."""
    for name, realm in plane.state.realms.items():
        if realm.realm.model == MODEL:
            index = Index.of(realm.matrix.snapshot)
            _ = index.urns, index.ranks
            with plane.reading() as reading:
                Texts(reading, name, index).prepare()
