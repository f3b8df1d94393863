"""Data products: their own page checks the domains, an asset's page checks the asset.

SOURCE: datahub reference 5.1; DataProductService, BatchSetDataProductResolver.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Final

from pyroaring import BitMap

from lakewarden.kernel.entity import Entity
from lakewarden.systems.datahub.http.graphql import authorization
from lakewarden.systems.datahub.http.graphql.call import Call
from lakewarden.systems.datahub.http.graphql.edits import page_edit, placement, shapes, targets
from lakewarden.systems.datahub.http.graphql.records import Input, Member, members, provided_members
from lakewarden.systems.datahub.http.graphql.resolving import Info, Resolvers
from lakewarden.systems.datahub.use_cases.page_edits import Edit

_TYPE: Final = "dataProduct"
_ASPECT: Final = "dataProductProperties"
_PRODUCTS: Final = "dataProductUrns"


def _create(edit: Edit, product: Entity, input: Input) -> None:
    record = (
        Member("name", of="properties.name"),
        Member("description", of="properties.description"),
    )
    edit.put(product, _ASPECT, provided_members(record, input))
    placement.put_domain(edit, product, input["domainUrn"])


def _check_name(_: Call, argument: str, input: Input) -> Input:
    properties: Input = input[argument]
    targets.text("name", properties["name"])
    return properties


def _set(_: object, info: Info, input: Input) -> bool:
    """Moves assets to this product only; the products that lose them change too."""
    assets = _assets(info.context, input)
    urn = input.get("dataProductUrn")
    product = None if urn is None else targets.parse_entity("dataProductUrn", urn, _TYPE)

    def set_product(edit: Edit) -> bool:
        if product is None:
            _ask_of_assets(edit, assets)
        else:
            edit.ask("data_product.assets.change_page", product)
            targets.check_exists(edit, product)
        targets.check_exists(edit, *assets)
        for other in _products_with(edit, assets):
            if other != product:
                _remove(edit, other, assets)
        if product is not None:
            _add(edit, product, assets)
        return True

    return authorization.edit(info.context, set_product)


def _batch(write: Callable[[Edit, Entity, Sequence[Entity]], None]) -> Callable[..., bool]:
    def resolve(_: object, info: Info, input: Input) -> bool:
        assets = _assets(info.context, input)
        products = page_edit.references(_TYPE)(info.context, _PRODUCTS, input)

        def change_products(edit: Edit) -> bool:
            _ask_of_assets(edit, assets)
            targets.check_exists(edit, *assets)
            targets.check_references(edit, _PRODUCTS, *products)
            for product in products:
                write(edit, product, assets)
            return True

        return authorization.edit(info.context, change_products)

    return resolve


def _assets(call: Call, input: Input) -> list[Entity]:
    assets: list[Entity] = page_edit.references()(call, "resourceUrns", input)
    return assets


def _ask_of_assets(edit: Edit, assets: Iterable[Entity]) -> None:
    for asset in assets:
        edit.ask("data_product.asset.change", asset)


def _products_with(edit: Edit, assets: Iterable[Entity]) -> list[Entity]:
    """The products that contain any of the assets."""
    coded = edit.state.matrix.snapshot.coded
    edges = coded.relations.get("asset")
    ids = BitMap(id for asset in assets if (id := coded.tree.find(asset)) is not None)
    sources = () if edges is None else edges.sources_of(ids)
    return sorted(coded.tree.entity(id) for id in sources)


def _add(edit: Edit, product: Entity, assets: Sequence[Entity]) -> None:
    stamps = {"created": edit.stamp, "lastModified": edit.stamp}
    records = [{"destinationUrn": asset.name, **stamps} for asset in assets]
    value = edit.value(product, _ASPECT)
    value["assets"] = shapes.with_records(value, "assets", "destinationUrn", records)
    edit.put(product, _ASPECT, value)


def _remove(edit: Edit, product: Entity, assets: Sequence[Entity]) -> None:
    value, urns = edit.value(product, _ASPECT), {asset.name for asset in assets}
    value["assets"] = shapes.select_records(
        value, "assets", "destinationUrn", lambda urn: urn not in urns
    )
    edit.put(product, _ASPECT, value)


RESOLVERS: Final[Resolvers] = {
    "Mutation": {
        "createDataProduct": page_edit.creation(
            _TYPE,
            "data_product.create",
            _create,
            about="domainUrn",
            reads={"domainUrn": page_edit.reference("domain"), "properties": _check_name},
            check=page_edit.exists("domainUrn"),
        ),
        "updateDataProduct": page_edit.change(
            page_edit.by_urn(_TYPE),
            "data_product.update",
            page_edit.merge_members(_ASPECT, *members("name", "description")),
            reads={"name": page_edit.name},
        ),
        "deleteDataProduct": page_edit.deletion(page_edit.by_urn(_TYPE), "data_product.delete"),
        "batchSetDataProduct": _set,
        "batchAddToDataProducts": _batch(_add),
        "batchRemoveFromDataProducts": _batch(_remove),
    }
}
