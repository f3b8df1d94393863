"""The registry of systems, and what each system provides.

A system is defined by one value, a `SystemDefinition`. Systems of `lakewarden.systems` are found
by their folders (`SYSTEM` in `system.py`), systems of other packages by the entry point group
`lakewarden.systems`. Nothing of a system is imported before it is needed: a definition holds
references (`module:attribute`, below the system's package), which `load` resolves.

A plug-in's definition that cannot be imported, or that claims a name which another system has, is
left out and listed in `problems`; it does not affect the other systems.
"""

from __future__ import annotations

import pkgutil
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cache
from importlib import import_module, resources
from importlib.metadata import EntryPoint, entry_points, version
from types import MappingProxyType
from typing import Any, Final

from lakewarden.kernel.errors import BadInput, Unknown

GROUP: Final = "lakewarden.systems"
"""The entry point group of systems of other packages, and the package of the built-in ones."""


PARTS: Final = (
    *("settings", "dialect", "first_start", "extractor", "sample"),
    *("search", "dbt", "owner_rules", "passwords", "policies", "documents", "locations"),
    *("column_types", "column_name", "column_spelling", "push_styles", "token_record"),
)
"""The parts of a system that are one reference each."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SystemDefinition:
    """One governed system.

    `package` is the package that contains its references and model files. `models` maps the names
    of its models to their files, the default model first; `spellings` maps the names that model
    files use for spellings to their modules (`lakewarden.kernel.entity.Spelling`).

    The other fields are references, or "" where the system has no such part:

    - `settings`: a `lakewarden.config.system_settings.SystemSettings`
    - `dialect`: a function of these settings that returns a `lakewarden.http.exchange.Dialect`
    - `first_start`: a `lakewarden.config.first_start.FirstStart`
    - `extractor`: a `lakewarden.pipeline.extract.extractor.Extractor`
    - `sample`: a `lakewarden.sample.part.SamplePart`
    - `search`: a `lakewarden.service.search_terms.SearchTerms`
    - `dbt`: a `lakewarden.pipeline.ingest.dbt_file.DbtReader`
    - `owner_rules`: a `lakewarden.pipeline.ingest.owner_rules.OwnerRulesReader`
    - `passwords`: a module with the passwords of users (`lakewarden.cli.user_password`)
    - `policies`: a function of a policy's name, its value as the system writes it, the model and
      the place for errors; it returns the statement as it is written in a file
    - `documents`: a module that is a `lakewarden.service.statement_document.StatementDocuments`
    - `locations`: by type, a function of an entity's document that returns where its files are
    - `column_types`: a `lakewarden.service.column_types.ColumnTypes`
    - `column_name`: a function of a column that returns its name in expressions, where that is not
      the last part of its name
    - `column_spelling`: a function of a table and of a column's name in expressions that returns
      the full name of the column, where that is not the table's name, a dot and the column's name
    - `push_styles`: by kind of target, the `lakewarden.pushdown.style.Style` of its own plug-in
    - `token_record`: a function of a transaction, a realm and a token that removes the system's
      own record of the token
    - `sources`: `lakewarden.pipeline.ingest.opener.Opener` by the names that
      `pipeline ingest --source` accepts
    - `engines`: by engine name, the file that says what the acts of the engine require

    `single_headers` are the request headers, in lower case, that affect a decision and that a
    request may therefore have only once. `internal_users` are accounts of the system itself, which
    no caller can be; `operator_users` are accounts that only a token made by the operator can be,
    never a user from an identity provider. Systems are sorted by `precedence`, lowest first: the
    order matters where two systems could serve the same path.
    """

    name: str
    package: str
    models: Mapping[str, str]
    title: str = ""
    version: str = ""
    spellings: Mapping[str, str] = field(default_factory=dict)
    settings: str = ""
    dialect: str = ""
    first_start: str = ""
    extractor: str = ""
    sample: str = ""
    search: str = ""
    dbt: str = ""
    owner_rules: str = ""
    passwords: str = ""
    policies: str = ""
    documents: str = ""
    locations: str = ""
    column_types: str = ""
    column_name: str = ""
    column_spelling: str = ""
    push_styles: str = ""
    token_record: str = ""
    sources: Mapping[str, str] = field(default_factory=dict)
    engines: Mapping[str, str] = field(default_factory=dict)
    single_headers: tuple[str, ...] = ()
    internal_users: frozenset[str] = frozenset()
    operator_users: frozenset[str] = frozenset()
    precedence: int = 100

    @property
    def is_built_in(self) -> bool:
        """Whether the system belongs to this package; such a system must load completely."""
        return self.package.startswith(f"{GROUP}.")

    def load(self, reference: str) -> Any:
        """The object of `module:attribute`, or the module.

        Raises `BadInput` if there is none; its cause names a library that is not installed.
        """
        module, _, attribute = reference.partition(":")
        try:
            loaded = import_module(f"{self.package}.{module}")
            return getattr(loaded, attribute) if attribute else loaded
        except (ImportError, AttributeError) as error:
            raise BadInput(f"`{reference}` cannot be loaded: {error}", where=self.name) from error

    def model_text(self, model: str) -> str:
        """The text of a model file."""
        return self.text(self.models[model])

    def text(self, file: str) -> str:
        """The text of a file in the system's package."""
        return resources.files(self.package).joinpath(file).read_text("utf-8")

    def references(self) -> Iterator[str]:
        """All references of the definition."""
        yield from self.spellings.values()
        yield from self.sources.values()
        yield from filter(None, (getattr(self, part) for part in PARTS))

    def claims(self) -> Iterator[tuple[str, str]]:
        """The names that no other system may have, each as (kind, name)."""
        yield "system", self.name
        yield from (("model", name) for name in self.models)
        yield from (("spelling", name) for name in self.spellings)
        yield from (("source", name) for name in self.sources)


@dataclass(frozen=True, slots=True)
class Registry:
    """The systems by name, and the problems of rejected systems by name."""

    systems: Mapping[str, SystemDefinition]
    problems: dict[str, str]

    def with_part(self, part: str) -> Iterator[tuple[SystemDefinition, Any]]:
        """The systems that have a part, such as `dialect`, each with that part."""
        for system in self.systems.values():
            reference = getattr(system, part)
            if reference:
                try:
                    yield system, system.load(reference)
                except BadInput as error:
                    if system.is_built_in:
                        raise
                    self.problems[system.name] = str(error)

    def check(self, optional: Collection[str] = ()) -> Mapping[str, frozenset[str]]:
        """Loads every reference of every system, and adds errors to `problems`.

        A missing library of `optional` is no problem: returns these libraries by system.
        """
        missing: dict[str, frozenset[str]] = {}
        for system in self.systems.values():
            try:
                libraries = frozenset(_missing_libraries(system, optional))
                for model in system.models:
                    system.model_text(model)
            except (BadInput, OSError) as error:
                self.problems[system.name] = str(error)
                continue
            if libraries:
                missing[system.name] = libraries
        return missing

    def shipper_of(self, model: str) -> SystemDefinition | None:
        """The system that ships a model; None for a custom model."""
        return next((system for system in self.systems.values() if model in system.models), None)

    def of_model(self, model: str) -> SystemDefinition:
        """The system that ships a model; raises `Unknown`."""
        system = self.shipper_of(model)
        if system is not None:
            return system
        raise Unknown("model", model, f"expected one of: {', '.join(self.models())}")

    def models(self) -> tuple[str, ...]:
        """The names of the shipped models, sorted."""
        return tuple(sorted(name for system in self.systems.values() for name in system.models))

    def spellings(self) -> tuple[str, ...]:
        """The names of the spellings that systems provide, sorted."""
        return tuple(sorted(name for system in self.systems.values() for name in system.spellings))

    def spelling(self, name: str) -> Any | None:
        """The module of a spelling that a system provides; None if there is none."""
        for system in self.systems.values():
            if name in system.spellings:
                return system.load(system.spellings[name])
        return None


def missing_library(error: BaseException | None) -> str:
    """The import name of the library whose absence is this error; empty for other errors.

    >>> missing_library(ModuleNotFoundError("no", name="pyarrow.lib"))
    'pyarrow'
    """
    name = error.name if isinstance(error, ModuleNotFoundError) else None
    return (name or "").partition(".")[0]


def _missing_libraries(system: SystemDefinition, optional: Collection[str]) -> Iterator[str]:
    """The libraries that parts of a system lack. Raises `BadInput` for other errors in a part."""
    for reference in system.references():
        try:
            system.load(reference)
        except BadInput as error:
            library = missing_library(error.__cause__)
            if library not in optional:
                raise
            yield library


@cache
def registry() -> Registry:
    """The systems of this installation; discovered once."""
    return discover(_built_in(), entry_points(group=GROUP))


def discover(own: Iterable[SystemDefinition], plugins: Iterable[EntryPoint]) -> Registry:
    """The built-in systems, and the plug-ins that load and claim no name twice."""
    systems = {system.name: system for system in sorted(own, key=_order)}
    loaded, problems = _loaded(plugins)
    owners: dict[tuple[str, str], list[str]] = {}
    for system in (*systems.values(), *loaded):
        for claim in system.claims():
            owners.setdefault(claim, []).append(system.name)
    for system in loaded:
        for (kind, name), claimed_by in owners.items():
            if (kind, name) in system.claims() and len(claimed_by) > 1:
                problems[system.name] = f"the {kind} `{name}` is claimed by several systems"
    accepted = {
        system.name: system for system in sorted(loaded, key=_order) if system.name not in problems
    }
    return Registry(MappingProxyType({**systems, **accepted}), problems)


def _order(system: SystemDefinition) -> tuple[int, str]:
    return system.precedence, system.name


def _built_in() -> Iterator[SystemDefinition]:
    """The built-in systems, those of `lakewarden.systems`."""
    package = import_module(GROUP)
    for folder in pkgutil.iter_modules(package.__path__):
        if folder.ispkg:
            system: SystemDefinition = import_module(f"{GROUP}.{folder.name}.system").SYSTEM
            yield replace(system, version=version("lakewarden"))


def _loaded(
    plugins: Iterable[EntryPoint],
) -> tuple[list[SystemDefinition], dict[str, str]]:
    """The definitions of other packages, and the problems of entry points without a valid one."""
    systems, problems = list[SystemDefinition](), dict[str, str]()
    for plugin in sorted(plugins, key=lambda plugin: (plugin.name, plugin.value)):
        try:
            system = plugin.load()
        except Exception as error:  # noqa: BLE001 — a plug-in that fails must not affect the others
            problems[plugin.name] = f"`{plugin.value}` cannot be loaded: {error}"
            continue
        if isinstance(system, SystemDefinition):
            version = "" if plugin.dist is None else plugin.dist.version
            systems.append(replace(system, version=system.version or version))
        else:
            problems[plugin.name] = f"`{plugin.value}` is no SystemDefinition"
    return systems, problems
