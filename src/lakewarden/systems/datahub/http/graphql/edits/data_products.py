"""Data products: asked of their domains on their own page, of the assets on those' pages.

SOURCE: datahub reference 5.1; DataProductService, BatchSetDataProductResolver.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Final

from pyroaring import BitMap

from lakewarden.kernel.entity import Entity
from lakewarden.systems.datahub.aspects.fields import untagged
from lakewarden.systems.datahub.http.graphql import authorization
from lakewarden.systems.datahub.http.graphql.call import Call
from lakewarden.systems.datahub.http.graphql.edits import domain_of, page_edit, shapes, targets
from lakewarden.systems.datahub.http.graphql.edits.page_edit import (
    by_urn,
    change,
    creation,
    deletion,
    exists,
    reference,
    references,
)
from lakewarden.systems.datahub.http.graphql.edits.targets import Input
from lakewarden.systems.datahub.http.graphql.resolving import Info, Resolvers
from lakewarden.systems.datahub.use_cases.aspects import Value
from lakewarden.systems.datahub.use_cases.page_edits import Edit

_TYPE: Final = "dataProduct"
_ASPECT: Final = "dataProductProperties"
_PRODUCTS: Final = "dataProductUrns"


def _read_properties(_: Call, argument: str, input: Input) -> Value:
    properties = input[argument]
    return {"name": targets.text("name", properties["name"]), **shapes.description(properties)}


def _create(edit: Edit, product: Entity, input: Input) -> None:
    edit.put(product, _ASPECT, dict(input["properties"]))
    domain_of.put(edit, product, input["domainUrn"])


def _update(edit: Edit, product: Entity, input: Input) -> None:
    given = {key: input[key] for key in ("name", "description") if input.get(key) is not None}
    edit.put(product, _ASPECT, {**edit.value(product, _ASPECT), **given})


def _set(_: object, info: Info, input: Input) -> bool:
    """An asset is then in this product alone; the products that it leaves are changed too."""
    assets = _assets(info.context, input)
    urn = input.get("dataProductUrn")
    product = None if urn is None else targets.parsed("dataProductUrn", urn, _TYPE)

    def set_product(edit: Edit) -> bool:
        if product is None:
            _ask_of_assets(edit, assets)
        else:
            edit.ask("data_product.assets.change_page", product)
            targets.check_there(edit, product)
        targets.check_there(edit, *assets)
        for other in _holding(edit, assets):
            if other != product:
                _remove(edit, other, assets)
        if product is not None:
            _add(edit, product, assets)
        return True

    return authorization.edit(info.context, set_product)


def _batch(write: Callable[[Edit, Entity, Sequence[Entity]], None]) -> Callable[..., bool]:
    def resolve(_: object, info: Info, input: Input) -> bool:
        assets = _assets(info.context, input)
        products = references(_TYPE)(info.context, _PRODUCTS, input)

        def change_products(edit: Edit) -> bool:
            _ask_of_assets(edit, assets)
            targets.check_there(edit, *assets)
            targets.check_named(edit, _PRODUCTS, *products)
            for product in products:
                write(edit, product, assets)
            return True

        return authorization.edit(info.context, change_products)

    return resolve


def _assets(call: Call, input: Input) -> list[Entity]:
    assets: list[Entity] = references()(call, "resourceUrns", input)
    return assets


def _ask_of_assets(edit: Edit, assets: Iterable[Entity]) -> None:
    for asset in assets:
        edit.ask("data_product.asset.change", asset)


def _holding(edit: Edit, assets: Iterable[Entity]) -> list[Entity]:
    """The products in which any of the assets is."""
    coded = edit.state.matrix.snapshot.coded
    edges = coded.relations.get("asset")
    ids = BitMap(id for one in assets if (id := coded.tree.find(one)) is not None)
    sources = () if edges is None else edges.sources_of(ids)
    return sorted(coded.tree.entity(id) for id in sources)


def _add(edit: Edit, product: Entity, assets: Sequence[Entity]) -> None:
    value = edit.value(product, _ASPECT)
    there = shapes.members(value, "assets")
    names = {_name(one) for one in there}
    new = [_association(edit, one) for one in assets if one.name not in names]
    edit.put(product, _ASPECT, {**value, "assets": [*there, *new]})


def _remove(edit: Edit, product: Entity, assets: Sequence[Entity]) -> None:
    value, names = edit.value(product, _ASPECT), {one.name for one in assets}
    staying = [one for one in shapes.members(value, "assets") if _name(one) not in names]
    edit.put(product, _ASPECT, {**value, "assets": staying})


def _association(edit: Edit, asset: Entity) -> Value:
    return {"destinationUrn": asset.name, "created": edit.stamp, "lastModified": edit.stamp}


def _name(association: object) -> object:
    return untagged(association.get("destinationUrn")) if isinstance(association, dict) else None


_ROWS: Final = {
    "createDataProduct": creation(
        _TYPE,
        "data_product.create",
        _create,
        about="domainUrn",
        reads={"domainUrn": reference("domain"), "properties": _read_properties},
        check=exists("domainUrn"),
    ),
    "updateDataProduct": change(
        by_urn(_TYPE), "data_product.update", _update, reads={"name": page_edit.name}
    ),
    "deleteDataProduct": deletion(by_urn(_TYPE), "data_product.delete"),
}

RESOLVERS: Final[Resolvers] = {
    "Mutation": {
        **page_edit.resolvers(_ROWS)["Mutation"],
        "batchSetDataProduct": _set,
        "batchAddToDataProducts": _batch(_add),
        "batchRemoveFromDataProducts": _batch(_remove),
    }
}
