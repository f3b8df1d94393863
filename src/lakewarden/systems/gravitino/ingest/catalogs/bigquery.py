"""Exports of Cloud Asset Inventory about BigQuery, as JSON lines, and lists of row access policies.

    //cloudresourcemanager.googleapis.com/projects/NUMBER            a project
    //bigquery.googleapis.com/projects/ID/datasets/D                 a dataset
    //bigquery.googleapis.com/projects/ID/datasets/D/tables/T        a table or view

An asset has `resource.data` (the resource in its API's format), `iamPolicy`, or both. In export
files the policy is `iam_policy`; a search result has its name in `resource`, and `policy`. Projects
have their number in names and their id in resources. No such export contains row access policies: a
reply of `rowAccessPolicies.list`, which may be empty, must be in the folder. Column policies are in
the resources of tables, so an export with policies of tables but without resources is rejected.

SOURCE: Cloud Asset Inventory documentation, Exporting assets and Asset name format; BigQuery API
v2, Table, TableFieldSchema and RowAccessPolicy; IAM documentation, Policy.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from lakewarden.kernel.errors import BadInput
from lakewarden.kernel.toml_section import Section
from lakewarden.pipeline.ingest.files import File
from lakewarden.pipeline.ingest.json_file import records as json_records
from lakewarden.systems.gravitino.ingest.catalogs.records import (
    Exists,
    Granted,
    Grantee,
    Limited,
    Record,
    Securable,
    Untranslated,
    label,
)

ROW_POLICIES: Final = "rowAccessPolicies"

_AUTHORIZED: Final = frozenset({"view", "routine", "dataset"})
"""The keys of entries of an access list that are no grants to principals."""

_PROJECT: Final = re.compile(r"//cloudresourcemanager\.googleapis\.com/projects/([^/]+)")
_DATASET: Final = re.compile(
    r"//bigquery\.googleapis\.com/projects/([^/]+)/datasets/([^/]+)(?:/tables/([^/]+))?"
)


def records(files: Sequence[File]) -> Iterator[Record]:
    """The records of the assets. Raises `BadInput` for a record that is not an asset."""
    assets: list[Section] = []
    row_policies: list[Section] = []
    for file in files:
        for record in json_records(file.path, file.name):
            where = f"{file.name}: line {record.line}{record.path}"
            if ROW_POLICIES in record.value or not record.value:
                row_policies.append(Section(record.value, where))
                continue
            _refuse_deny_policy(record.value, where)
            assets.append(Section(_asset(record.value), where))
    where = files[0].name if files else ""
    if not row_policies:
        message = (
            f"has no reply with `{ROW_POLICIES}`, without which tables with row access policies"
            f' would be read as a whole (`{{"{ROW_POLICIES}": []}}` says that there are none)'
        )
        raise BadInput(message, where=where)
    read = _Assets(assets)
    if read.lacks_resources():
        message = (
            "has no asset with the `resource` of a table, without which columns with policy tags"
            " would be read"
        )
        raise BadInput(message, where=where)
    yield from read.row_policies(row_policies)
    yield from read.records()


def _refuse_deny_policy(record: Mapping[str, object], where: str) -> None:
    """Raises `BadInput` for an IAM deny policy: left out, access that it denies would be allowed.

    SOURCE: IAM documentation, Deny policies: a rule is `{"denyRule": {...}}`; lists have names such
    as `policies/…/denypolicies/ID`, and no rules.
    """
    listed = record.get("policies", [record])
    policies = [one for one in listed if isinstance(one, dict)] if isinstance(listed, list) else []
    if any(map(_is_deny_policy, policies)):
        message = "is an IAM deny policy, which is not read; leave it out if it denies nothing here"
        raise BadInput(message, where=where)


def _is_deny_policy(record: Mapping[str, object]) -> bool:
    rules = record.get("rules")
    has_rule = isinstance(rules, list) and any(
        isinstance(r, dict) and "denyRule" in r for r in rules
    )
    return has_rule or "/denypolicies/" in str(record.get("name")).lower()


def _asset(record: Mapping[str, object]) -> Mapping[str, object]:
    """The asset with its name and policy under the keys of the API."""
    if isinstance(record.get("resource"), str):
        record = {"name": record["resource"], "iamPolicy": record.get("policy")}
    policy = record.get("iamPolicy", record.get("iam_policy"))
    others = {key: value for key, value in record.items() if key != "iamPolicy"}
    return others if policy is None else {**others, "iamPolicy": policy}


class _Assets:
    """The assets of one export; the ids of projects are read before everything else."""

    def __init__(self, assets: Sequence[Section]) -> None:
        self._assets = [(one.text("name"), _data(one), one) for one in assets]
        self._ids: dict[str, str] = {}
        self._with_policy = {
            name for name, _, asset in self._assets if "iamPolicy" in asset.names()
        }
        for name, data, _ in self._assets:
            project = _PROJECT.fullmatch(name)
            if project and isinstance(data.get("projectId"), str):
                self._ids[project[1]] = str(data["projectId"])

    def lacks_resources(self) -> bool:
        """Whether the export contains no table's resource, so limited columns are unknown."""
        tables = [(_is_table(name), data) for name, data, _ in self._assets]
        is_about_tables = not tables or any(is_table for is_table, _ in tables)
        return is_about_tables and not any(is_table and data for is_table, data in tables)

    def row_policies(self, replies: Sequence[Section]) -> Iterator[Record]:
        """The limits by row access policies."""
        for reply in replies:
            for policy in reply.tables(ROW_POLICIES):
                reference = policy.at("rowAccessPolicyReference")
                of = Section(policy.take("rowAccessPolicyReference"), reference)
                table = (of.text("datasetId"), of.text("tableId"))
                on = Securable("TABLE", (self._id(of.text("projectId")), *table))
                yield Limited(on, "row_access_policy", policy.where)

    def records(self) -> Iterator[Record]:
        for name, data, asset in self._assets:
            on = self._securable(name, data)
            if on is None:
                continue
            if on.kind in ("PROJECT", "DATASET") or data:
                yield Exists(on, asset.where)
            if data:
                yield from _fields(on, data, asset.where)
                yield from self._access(name, on, data, asset.where)
            yield from _policy(on, asset)

    def _access(
        self, name: str, on: Securable, data: Mapping[str, object], where: str
    ) -> Iterator[Record]:
        """The entries of a dataset's access list, for the report.

        The IAM policy has the same grants with their conditions.
        """
        resource = Section({"access": data.get("access")}, f"{where}.resource.data")
        for entry in resource.tables("access"):
            said = {key: entry.take(key) for key in entry.names()}
            text = json.dumps(said, ensure_ascii=False, sort_keys=True)
            if not _AUTHORIZED.isdisjoint(said):
                yield Untranslated(f"{label(on)}: {text}", "authorized", entry.where)
            elif name not in self._with_policy:
                yield Untranslated(f"{label(on)}: {text}", "access_entry", entry.where)

    def _id(self, project: str) -> str:
        """The id of a project, which may be named by its number."""
        return self._ids.get(project, project)

    def _securable(self, name: str, data: Mapping[str, object]) -> Securable | None:
        """The object of an asset; None for an asset of another service."""
        project = _PROJECT.fullmatch(name)
        if project:
            return Securable("PROJECT", (self._id(project[1]),))
        found = _DATASET.fullmatch(name)
        if not found:
            return None
        dataset = (self._id(found[1]), found[2])
        if not found[3]:
            return Securable("DATASET", dataset)
        kind = data.get("type")
        return Securable(kind if isinstance(kind, str) else "TABLE", (*dataset, found[3]))


def _is_table(name: str) -> bool:
    found = _DATASET.fullmatch(name)
    return found is not None and bool(found[3])


def _data(asset: Section) -> Mapping[str, object]:
    """The resource in its API's format; empty if the asset has none."""
    resource = Section(asset.take("resource") or {}, asset.at("resource"))
    data = resource.take("data") or {}
    if not isinstance(data, Mapping):
        raise BadInput("expected an object", where=resource.at("data"))
    return data


def _fields(table: Securable, data: Mapping[str, object], where: str) -> Iterator[Record]:
    """The columns of a table, also those in records, and their policies."""
    schema = Section(data.get("schema") or {}, f"{where}.resource.data.schema")
    todo: list[tuple[tuple[str, ...], Section]] = [((), field) for field in schema.tables("fields")]
    while todo:
        above, field = todo.pop(0)
        path = (*above, field.text("name"))
        on = Securable("COLUMN", (*table.parts, *path))
        yield Exists(on, where)
        tags = Section(field.take("policyTags") or {}, field.at("policyTags"))
        if tags.texts("names") or field.take("dataPolicies"):
            yield Limited(table, "policy_tag", where, ".".join(path))
        todo += [(path, inner) for inner in field.tables("fields")]


def _policy(on: Securable, asset: Section) -> Iterator[Record]:
    policy = Section(asset.take("iamPolicy") or {}, asset.at("iamPolicy"))
    for binding in policy.tables("bindings"):
        role = binding.text("role")
        limit = "condition" if binding.take("condition") is not None else ""
        for member in binding.texts("members"):
            yield Granted(Grantee("", member), role, on, binding.where, limit)
