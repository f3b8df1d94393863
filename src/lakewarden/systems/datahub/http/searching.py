"""A search session for one caller, shared by all interfaces."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Final

from pyroaring import BitMap

from lakewarden.http.exchange import Exchange
from lakewarden.service.ports import Reading
from lakewarden.systems.datahub.search.facets import Facets
from lakewarden.systems.datahub.search.index import Index
from lakewarden.systems.datahub.search.question import Question
from lakewarden.systems.datahub.search.search import Search
from lakewarden.systems.datahub.search.texts import Texts

USUAL: Final = (
    *("dataset", "dashboard", "chart", "mlModel", "mlModelGroup", "mlFeatureTable", "mlFeature"),
    *("mlPrimaryKey", "dataFlow", "dataJob", "glossaryTerm", "glossaryNode", "tag", "role"),
    *("corpuser", "corpGroup", "container", "domain", "dataProduct", "notebook"),
    *("businessAttribute", "schemaField", "application", "document"),
)
"""The types that are searched by default.
SOURCE: datahub-project/datahub, SearchUtils, the types that are searched by default."""

Visible = Callable[[Exchange, str], BitMap]
"""The stored entities of a type that may be shown to the caller: see `view_authorization`."""


class SearchSession:
    """The search of one realm for one caller; it queries the store only when needed."""

    def __init__(self, exchange: Exchange, visible: Visible, stack: ExitStack) -> None:
        self._exchange = exchange
        self._visible = visible
        self._stack = stack
        self._texts: Texts | None = None
        self.index = Index.of(exchange.realm_state.matrix.snapshot)

    def texts(self) -> Texts:
        """The store's answers, from one snapshot."""
        if self._texts is None:
            reading: Reading = self._stack.enter_context(self._exchange.service.reading())
            self._texts = Texts(reading, self._exchange.realm, self.index)
        return self._texts

    def search(self, question: Question) -> Search:
        """A search for the question."""

        def visible(type: str) -> BitMap:
            return self._visible(self._exchange, type)

        return Search(self.index, self.texts, visible, question)

    def names(self, ids: Iterable[int]) -> dict[int, str]:
        """The display names of the ids."""
        return self.texts().names(BitMap(list(ids)))

    @property
    def facets(self) -> Facets:
        """Counts over the results of a search."""
        return Facets(self.index, self.texts)


@contextmanager
def search_session(exchange: Exchange, visible: Visible) -> Iterator[SearchSession]:
    """The search session of one call."""
    with ExitStack() as stack:
        yield SearchSession(exchange, visible, stack)
