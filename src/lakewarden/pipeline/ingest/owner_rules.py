"""Owners by pattern: rules in a file that assign owners, for systems that support them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from lakewarden.kernel.errors import BadInput
from lakewarden.pipeline.storage.location import Location
from lakewarden.registry import registry
from lakewarden.service.system import System

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


class OwnerRules(Protocol):
    """The rules of a file."""

    @property
    def semantics(self) -> str:
        """How existing owners are treated: a word that the system defines."""
        ...

    def apply(self, owners: DataFrame, entities: DataFrame) -> DataFrame:
        """The rows of `owners` after the rules, each once; both frames are tables of a version."""
        ...


class OwnerRulesReader(Protocol):
    """Reads a file of rules; raises `BadInput` with file, field and expectation."""

    def __call__(
        self, file: Location, spark: SparkSession, semantics: str | None
    ) -> OwnerRules: ...


def check_has_owner_rules(system: System, where: str) -> None:
    """Raises `BadInput` for a realm of a system without owners by pattern."""
    definition = registry().shipper_of(system.model.name)
    if definition is None or not definition.owner_rules:
        titles = " or ".join(system.title for system, _ in registry().with_part("owner_rules"))
        message = f"owners by pattern are for datasets of {titles}, not for {system.model.title}"
        raise BadInput(message, where=where)


def read_owner_rules(
    system: System, file: Location, spark: SparkSession, semantics: str | None = None
) -> OwnerRules:
    """The rules of a file; `semantics` overrides those of the file."""
    check_has_owner_rules(system, str(file))
    definition = registry().of_model(system.model.name)
    reader: OwnerRulesReader = definition.load(definition.owner_rules)
    return reader(file, spark, semantics)
