"""Warm-up of a realm: otherwise its first search would wait for the columns."""

from __future__ import annotations

from typing import Final

from lakewarden.service.decision_service import DecisionService
from lakewarden.systems.datahub.search.index import Index
from lakewarden.systems.datahub.search.texts import Texts

MODEL: Final = "datahub"
"""Realms of this model are searched."""


def prepare(service: DecisionService) -> None:
    """Builds the columns of every realm that is searched; raises `Unavailable`."""
    for name, realm in service.state.realms.items():
        if realm.realm.model == MODEL:
            index = Index.of(realm.matrix.snapshot)
            _ = index.urns, index.ranks
            with service.reading() as reading:
                Texts(reading, name, index).prepare()
