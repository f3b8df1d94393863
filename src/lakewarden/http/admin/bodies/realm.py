"""Bodies about realms and their models, and about the caller."""

from __future__ import annotations

from typing import Any

from msgspec import UNSET, UnsetType, field

from lakewarden.http.admin.bodies.base import RequestBody, ResponseBody
from lakewarden.http.admin.field_types import DirectoryName, ModelFile, ModelName, RealmName
from lakewarden.service.realm import DIRECTORY


class Caller(ResponseBody, kw_only=True):
    """The authenticated caller."""

    user: str
    directory: str
    realm: str | None
    groups: list[str]
    credential: str
    administrator: bool


class NewRealm(RequestBody, kw_only=True):
    """A realm to create, with a shipped model or with the text of a custom model."""

    name: RealmName
    model: ModelName | UnsetType = UNSET
    model_text: ModelFile | UnsetType = UNSET
    directory: DirectoryName = DIRECTORY
    settings: dict[str, str] = field(default_factory=dict)
    spellings: dict[str, str] = field(default_factory=dict)


class RealmChange(RequestBody, kw_only=True):
    """The settings and spellings to replace; omitted members stay unchanged."""

    settings: dict[str, str] | UnsetType = UNSET
    spellings: dict[str, str] | UnsetType = UNSET


class ModelUpgrade(RequestBody, kw_only=True):
    """A new version of a realm's custom model; without `apply` only the plan is returned.

    `drop` removes stored rows that the new version does not declare.
    """

    model_text: ModelFile
    apply: bool = False
    drop: bool = False


class UpgradeResponse(ResponseBody, kw_only=True):
    """The changes of an upgrade, planned or applied.

    `words` are the added, removed and redefined names, by `types`, `privileges` and
    `operations`. `pending`: the upgrade is not applied. `was` and `now` are digests. `orphans`
    are the first of the rows that no longer fit the model, `orphaned` counts all by kind.
    """

    realm: str
    revision: int
    was: str
    now: str
    pending: bool
    words: dict[str, dict[str, list[str]]]
    orphans: list[dict[str, str]]
    orphaned: dict[str, int]
    access: dict[str, Any]


class RealmResponse(ResponseBody, kw_only=True):
    """A realm. `settings` are all settings of its model, including defaults.

    `model_digest` is null for a shipped model; `model_text` is present when one realm is read.
    Counts and spellings are present if the caller may read the realm's contents.
    """

    name: str
    model: str
    title: str
    directory: str
    settings: dict[str, str]
    model_digest: str | None = None
    model_text: str | None = None
    entities: int | None = None
    statements: int | None = None
    spellings: dict[str, str] | None = None


class Realms(ResponseBody, kw_only=True):
    """The realms that are visible to the caller."""

    realms: list[RealmResponse]
