"""A question put to the search, for one caller: what all ways of asking have in common."""

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
"""The types that are searched where none are named.
SOURCE: datahub-project/datahub, SearchUtils, the types that are searched by default."""

Visible = Callable[[Exchange, str], BitMap]
"""The stored entities of a type that the caller may be shown: see `view_authorization`."""


class SearchSession:
    """The search of one realm as one caller sees it; the store is asked only where it must be."""

    def __init__(self, exchange: Exchange, visible: Visible, stack: ExitStack) -> None:
        self._exchange = exchange
        self._visible = visible
        self._stack = stack
        self._texts: Texts | None = None
        self.index = Index.of(exchange.realm_state.matrix.snapshot)

    def texts(self) -> Texts:
        """The store's answers, of one moment."""
        if self._texts is None:
            reading: Reading = self._stack.enter_context(self._exchange.service.reading())
            self._texts = Texts(reading, self._exchange.realm, self.index)
        return self._texts

    def search(self, question: Question) -> Search:
        """A question under way."""

        def visible(type: str) -> BitMap:
            return self._visible(self._exchange, type)

        return Search(self.index, self.texts, visible, question)

    def names(self, ids: Iterable[int]) -> dict[int, str]:
        """The names that people see of these."""
        return self.texts().names(BitMap(list(ids)))

    @property
    def facets(self) -> Facets:
        """Counts over what a search found."""
        return Facets(self.index, self.texts)


@contextmanager
def search_session(exchange: Exchange, visible: Visible) -> Iterator[SearchSession]:
    """The search, for as long as one call takes."""
    with ExitStack() as stack:
        yield SearchSession(exchange, visible, stack)
