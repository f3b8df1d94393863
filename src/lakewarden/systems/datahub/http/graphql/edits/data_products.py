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
from lakewarden.systems.datahub.http.graphql.edits import domain_of, shapes, targets
from lakewarden.systems.datahub.http.graphql.edits.shown import shown
from lakewarden.systems.datahub.http.graphql.edits.targets import Input
from lakewarden.systems.datahub.http.graphql.resolving import Info, Resolvers
from lakewarden.systems.datahub.use_cases.aspects import Value
from lakewarden.systems.datahub.use_cases.page_edits import Edit

_TYPE: Final = "dataProduct"
_ASPECT: Final = "dataProductProperties"


def _create(_: object, info: Info, input: Input) -> Entity | None:
    product = targets.made(_TYPE, input.get("id"))
    domain = targets.parsed("domainUrn", input["domainUrn"], "domain")
    properties = input["properties"]
    value: Value = {"name": targets.text("name", properties["name"])}
    if properties.get("description") is not None:
        value["description"] = properties["description"]

    def task(edit: Edit) -> None:
        edit.ask("data_product.create", domain)
        targets.check_named(edit, "domainUrn", domain)
        targets.check_new(edit, product)
        edit.put(product, _ASPECT, value)
        domain_of.put(edit, product, domain)
        edit.own(product, "data_product.create")

    authorization.edit(info.context, task)
    return shown(info.context, product)


def _update(_: object, info: Info, urn: str, input: Input) -> Entity | None:
    product = targets.parsed("urn", urn, _TYPE)
    given = {key: input[key] for key in ("name", "description") if input.get(key) is not None}
    if "name" in given:
        targets.text("name", given["name"])

    def task(edit: Edit) -> None:
        edit.ask("data_product.update", product)
        targets.check_there(edit, product)
        edit.put(product, _ASPECT, {**edit.value(product, _ASPECT), **given})

    authorization.edit(info.context, task)
    return shown(info.context, product)


def _delete(_: object, info: Info, urn: str) -> bool:
    product = targets.parsed("urn", urn, _TYPE)

    def task(edit: Edit) -> bool:
        edit.ask("data_product.delete", product)
        targets.check_there(edit, product)
        edit.drop(product)
        return True

    return authorization.edit(info.context, task)


def _set(_: object, info: Info, input: Input) -> bool:
    """An asset is then in this product alone; what it leaves is asked about as such."""
    assets = _assets(info.context, input)
    urn = input.get("dataProductUrn")
    product = None if urn is None else targets.parsed("dataProductUrn", urn, _TYPE)

    def task(edit: Edit) -> bool:
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

    return authorization.edit(info.context, task)


def _changing(*, adds: bool) -> Callable[..., bool]:
    def change(_: object, info: Info, input: Input) -> bool:
        assets = _assets(info.context, input)
        urns = targets.bounded(info.context, "dataProductUrns", input["dataProductUrns"])
        products = targets.all_parsed("dataProductUrns", urns, _TYPE)

        def task(edit: Edit) -> bool:
            _ask_of_assets(edit, assets)
            targets.check_there(edit, *assets)
            targets.check_named(edit, "dataProductUrns", *products)
            for product in products:
                (_add if adds else _remove)(edit, product, assets)
            return True

        return authorization.edit(info.context, task)

    return change


def _assets(call: Call, input: Input) -> list[Entity]:
    urns = targets.bounded(call, "resourceUrns", input["resourceUrns"])
    return targets.all_parsed("resourceUrns", urns)


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
    value, gone = edit.value(product, _ASPECT), {one.name for one in assets}
    kept = [one for one in shapes.members(value, "assets") if _name(one) not in gone]
    edit.put(product, _ASPECT, {**value, "assets": kept})


def _association(edit: Edit, asset: Entity) -> Value:
    return {"destinationUrn": asset.name, "created": edit.stamp, "lastModified": edit.stamp}


def _name(association: object) -> object:
    return untagged(association.get("destinationUrn")) if isinstance(association, dict) else None


RESOLVERS: Final[Resolvers] = {
    "Mutation": {
        "createDataProduct": _create,
        "updateDataProduct": _update,
        "deleteDataProduct": _delete,
        "batchSetDataProduct": _set,
        "batchAddToDataProducts": _changing(adds=True),
        "batchRemoveFromDataProducts": _changing(adds=False),
    }
}
