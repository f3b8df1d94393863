"""A small shop, edited over GraphQL and read back over REST.

Only the administrator has permissions, until a test grants some. Every response passes through the
server's own routes.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any
from urllib.parse import quote

from tests.systems.datahub.http.views import configure
from tests.systems.datahub.http.wire import ADMIN, REALM, Wire

ORDERS = "urn:li:dataset:(urn:li:dataPlatform:hive,shop.orders,PROD)"
STOCK = "urn:li:dataset:(urn:li:dataPlatform:hive,shop.stock,PROD)"
MODEL = "urn:li:dataset:(urn:li:dataPlatform:logical,orders,PROD)"
GONE = "urn:li:dataset:(urn:li:dataPlatform:hive,shop.gone,PROD)"
PRICE = "price"
"""A column of ORDERS, STOCK and MODEL."""

PII, SECRET = "urn:li:tag:pii", "urn:li:tag:secret"
MONEY, COST = "urn:li:glossaryTerm:money", "urn:li:glossaryTerm:cost"
TRADE, SALES = "urn:li:glossaryNode:trade", "urn:li:glossaryNode:sales"
SHOP, STORE = "urn:li:domain:shop", "urn:li:domain:store"
PRODUCT, OTHER = "urn:li:dataProduct:product", "urn:li:dataProduct:other"
QUERY = "urn:li:query:q"
CHART = "urn:li:chart:(looker,1)"
ANA, BOB, STAFF = "urn:li:corpuser:ana", "urn:li:corpuser:bob", "urn:li:corpGroup:staff"
EXPERT = "urn:li:ownershipType:expert"
TECHNICAL = "urn:li:ownershipType:__system__technical_owner"

Json = dict[str, Any]

FORBIDDEN, MISSING, BAD, CONFLICT = 403, 404, 400, 409

_STAMP = {"time": 1, "actor": BOB}
_SCHEMA = {"fields": [{"fieldPath": PRICE}, {"fieldPath": "name"}]}

_NAMED: Json = {"name": "tag", "note": "kept"}
_SHOP: list[tuple[str, str, Json]] = [
    *((dataset, "schemaMetadata", _SCHEMA) for dataset in (ORDERS, STOCK, MODEL)),
    *((tag, "tagProperties", _NAMED) for tag in (PII, SECRET)),
    ("urn:li:dataPlatform:logical", "dataPlatformInfo", {"name": "l", "logical": True}),
    (TRADE, "glossaryNodeInfo", {"name": "trade", "definition": ""}),
    (SALES, "glossaryNodeInfo", {"name": "s", "definition": "", "parentNode": TRADE}),
    (MONEY, "glossaryTermInfo", {"name": "m", "definition": "", "parentNode": TRADE}),
    (COST, "glossaryTermInfo", {"name": "cost", "definition": "", "termSource": "x"}),
    (SHOP, "domainProperties", {"name": "shop"}),
    (STORE, "domainProperties", {"name": "store"}),
    (PRODUCT, "domains", {"domains": [SHOP]}),
    (PRODUCT, "dataProductProperties", {"name": "p", "assets": []}),
    (OTHER, "domains", {"domains": [STORE]}),
    (OTHER, "dataProductProperties", {"assets": [{"destinationUrn": STOCK}]}),
    (QUERY, "querySubjects", {"subjects": [{"entity": ORDERS}]}),
    (QUERY, "queryProperties", {"source": "SYSTEM", "created": _STAMP}),
    (CHART, "chartInfo", {"title": "c"}),
    (EXPERT, "ownershipTypeInfo", {"name": "expert"}),
    (ANA, "corpUserInfo", {"active": True}),
    (BOB, "corpUserInfo", {"active": True}),
    (STAFF, "corpGroupInfo", {"displayName": "s", "members": [BOB], "note": "kept"}),
]


def column(dataset: str, path: str = PRICE) -> str:
    return f"urn:li:schemaField:({dataset},{path})"


class World:
    """The server with the shop in it."""

    def __init__(self, folder: Path) -> None:
        self.wire = Wire(folder)
        self._grants = 0
        self.error_message = ""
        if not self.exists(ORDERS):
            self.wire.put(*_SHOP)

    def close(self) -> None:
        self.wire.__exit__(None, None, None)

    @property
    def revision(self) -> int:
        return self.wire.service.state.revision

    def configure(self, **options: bool) -> None:
        """Changes the operator's configuration."""
        self.wire.services = configure(self.wire.service, REALM, self.wire.services, dict(options))

    def without_policies(self) -> None:
        """Removes all policies."""
        self.configure(policies=False)

    def may(self, *privileges: str, on: str = "", by: str = "ana") -> None:
        """Grants the user the privileges on an entity, or everywhere."""
        self._grants += 1
        self.wire.grant(f"{by}-{self._grants}", *privileges, to=by, **({"URN": [on]} if on else {}))

    def ask(self, query: str, by: str = "ana", **variables: object) -> Json:
        """Sends one document; returns the response."""
        body = {"query": query, "variables": variables}
        status, answer = self.wire.ask("POST", "/api/graphql", body, by)
        assert status == 200, answer
        return dict(answer)

    def good(self, query: str, by: str = "ana", **variables: object) -> Any:
        """The value of the one field of a document."""
        answer = self.ask(query, by, **variables)
        assert "errors" not in answer, answer
        (value,) = answer["data"].values()
        return value

    def bad(self, query: str, by: str = "ana", **variables: object) -> int:
        """The code of a document's only error. Checks that nothing was written."""
        before = self.revision
        (error,) = self.ask(query, by, **variables)["errors"]
        assert self.revision == before, error
        self.error_message = str(error["message"])
        return int(error["extensions"]["code"])

    def mutate(self, field: str, input: Json, by: str = "ana") -> Any:
        """Runs a mutation that only has an input."""
        return self.good(_mutation(field), by, i=input)

    def refused(self, field: str, input: Json, by: str = "ana") -> int:
        """The error code of such a mutation."""
        return self.bad(_mutation(field), by, i=input)

    def read(self, urn: str, aspect: str) -> Json:
        """An aspect as the administrator reads it; empty if there is none."""
        path = f"/aspects/{quote(urn, safe='')}?aspect={aspect}&version=0"
        status, answer = self.wire.ask("GET", path, None, ADMIN)
        if status == 404:
            return {}
        assert status == 200, answer
        (value,) = answer["aspect"].values()
        return dict(value)

    def exists(self, urn: str) -> bool:
        path = f"/openapi/v3/entity/{urn.split(':')[2]}/{quote(urn, safe='')}"
        return self.wire.ask("HEAD", path, None, ADMIN)[0] in (200, 204)


def _mutation(field: str) -> str:
    types = {
        "removeTag": "TagAssociationInput",
        "addTag": "TagAssociationInput",
        "addTerm": "TermAssociationInput",
        "removeTerm": "TermAssociationInput",
        "updateDescription": "DescriptionUpdateInput",
        "createGlossaryTerm": "CreateGlossaryEntityInput",
        "createGlossaryNode": "CreateGlossaryEntityInput",
        "addRelatedTerms": "RelatedTermsInput",
        "removeRelatedTerms": "RelatedTermsInput",
        "batchAddToDataProducts": "BatchSetDataProductsInput",
        "batchRemoveFromDataProducts": "BatchSetDataProductsInput",
    }
    type = types.get(field) or f"{field[0].upper()}{field[1:]}Input"
    inner = " { urn }" if field in ("createDataProduct", "createQuery") else ""
    return f"mutation m($i: {type}!) {{ {field}(input: $i){inner} }}"
