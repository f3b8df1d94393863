"""Users without recent activity, from the accesses that the job `unused` found in logs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from lakewarden.kernel.errors import BadInput
from lakewarden.kernel.principal import Principal
from lakewarden.kernel.statement_file import principal_text
from lakewarden.pipeline.index.index import Index
from lakewarden.pipeline.product import Input, Manifest, check_files, read_manifest
from lakewarden.pipeline.storage.location import Location
from lakewarden.pipeline.storage.parquet import read_table
from lakewarden.pipeline.version_folder import folder_of

_UNUSED: Final = "unused"
_ACCESSES: Final = "accesses"
_OPTION: Final = "--used"


@dataclass(frozen=True, slots=True)
class Use:
    """The last day of an allowed access for each principal, by its written form.

    `since` is the first day that counts as recent; `input` names the product.
    """

    since: str
    last: dict[str, str]
    input: Input

    def reason(self, user: Principal) -> str:
        """Why the user is inactive; empty for a user with an access since then."""
        last = self.last.get(principal_text(user))
        if last is None:
            return "no use recorded"
        return "" if last >= self.since else f"no use since {last}"


def use_of(product: Location, index: Index, input: Input) -> Use:
    """The activity of users, from a product of `unused`.

    Raises `BadInput` for a folder that is no such product, is damaged, or has another realm or
    index.
    """
    manifest = read_manifest(product, _UNUSED)
    check_files(product, manifest)
    _check_index(manifest, index, input)
    columns = ["principal", "allowed", "last"]
    rows = read_table(folder_of(product, manifest) / _ACCESSES, columns=columns)
    last: dict[str, str] = {}
    for batch in rows.to_batches(max_chunksize=50_000):
        for name, allowed, day in zip(*(c.to_pylist() for c in batch.columns), strict=True):
            if allowed and day > last.get(name, ""):
                last[name] = day
    digest = manifest.tables[_ACCESSES].digest
    return Use(str(manifest.options["since"]), last, Input(_UNUSED, manifest.version, digest))


def _check_index(manifest: Manifest, index: Index, input: Input) -> None:
    if manifest.facts.get("realm") != index.realm:
        realm = manifest.facts.get("realm")
        message = f"is of the realm `{realm}`, the index of `{index.realm}`; name one of that realm"
        raise BadInput(message, where=_OPTION)
    if input not in manifest.inputs:
        message = "was made from another index; run `lakewarden pipeline unused` with this one"
        raise BadInput(message, where=_OPTION)
