"""One typed settings object, and the three sources of its values.

The command line overrides the environment (`LAKEWARDEN_PORT`, `LAKEWARDEN_OIDC__ISSUER`), the
environment overrides the file (TOML). An unknown key is an error that names it. Settings that
weaken authentication or authorization must be explicit, and are reported in `weakened` (R-13).
"""

from __future__ import annotations

import ipaddress
import os
import re
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final, Literal, NamedTuple, Self, TypeVar
from urllib.parse import urlsplit

from pydantic import (
    AfterValidator,
    BaseModel,
    Field,
    PrivateAttr,
    SecretStr,
    ValidationError,
    create_model,
)
from pydantic_settings import (
    BaseSettings,
    EnvSettingsSource,
    PydanticBaseSettingsSource,
    SettingsConfigDict,
    SettingsError,
)

from lakewarden.config import defaults
from lakewarden.config.engines import (
    IcebergRealm,
    PolarisRealm,
    RangerRealm,
    SparkRealm,
    TrinoRealm,
)
from lakewarden.config.rate_limits import RateLimits
from lakewarden.config.root_token import check_root_token
from lakewarden.config.system_settings import SystemSettings
from lakewarden.config.values import (
    Address,
    CertificateName,
    Hosts,
    Keys,
    Networks,
    Places,
    Section,
    Words,
    merged,
    realm_name,
    user_name,
)
from lakewarden.kernel.errors import BadInput
from lakewarden.names.control import HOME
from lakewarden.registry import registry

PREFIX: Final = "LAKEWARDEN_"
"""The prefix of environment variables."""

NOT_SETTINGS: Final = frozenset(
    {
        "LAKEWARDEN_SERVER",
        "LAKEWARDEN_SOURCE_PASSWORD",
        "LAKEWARDEN_SOURCE_TOKEN",
        "LAKEWARDEN_SPARK_TOKEN",
        "LAKEWARDEN_TARGET_URL",
        "LAKEWARDEN_TOKEN",
    }
)
"""Variables that tell commands which server to call, and with which credential."""

LOOPBACK_HOSTS: Final = ("localhost", "127.0.0.1", "[::1]")
"""The names that local clients use for this machine."""

S = TypeVar("S", bound=SystemSettings)

_NESTED = "__"
_NAMED = re.compile(r'field "(\w+)"')
"""The setting in the library's error about a variable that contains no JSON."""


class Origin(NamedTuple):
    """The source of a value: `option`, `variable`, `file`, `store` or `default`.

    `where` is the name of the variable or the path of the file; otherwise empty.
    """

    source: str
    where: str = ""


DEFAULT: Final = Origin("default")


class Oidc(Section):
    """Bearer tokens of an identity provider: issuer, audience and keys.

    The keys are those of `jwks_file`, or of `jwks_url`, which is read at the start and then every
    `refresh_seconds`; a token never triggers a read. `user_claim` names the person, `group_claim`
    the list of groups; the people are those of `directory`. None of them is the administrator of
    the server, unless `admins` lists the administrator's name, or the `ISSUER#SUBJECT` of the
    person with that name.

    With a `client_id` people log in to the web pages at the provider, by the code flow with PKCE;
    without a `client_secret` as a public client. The provider redirects to
    `PUBLIC_URL/ui/login/oidc/callback`. The ID token must name person and groups by the same
    claims; `scope` is the scopes that they require.
    """

    issuer: str = Field(default="", description="The `iss` of the tokens, exactly.")
    audience: str = Field(default="", description="The `aud` that a bearer token must contain.")
    jwks_url: str = Field(
        default="",
        description="Address of the keys that sign tokens; read at the start and at intervals.",
    )
    jwks_file: Path | None = Field(
        default=None, description="File with the keys, instead of an address."
    )
    refresh_seconds: float = Field(
        default=300.0, ge=10.0, description="Interval at which the keys are read again."
    )
    leeway_seconds: float = Field(
        default=30.0, ge=0.0, le=300.0, description="Accepted clock difference to the provider."
    )
    user_claim: str = Field(default="sub", description="The claim that names the user.")
    group_claim: str = Field(default="groups", description="The claim with the list of groups.")
    directory: Annotated[str, AfterValidator(realm_name)] = Field(
        default=HOME, description="The directory to which the users belong."
    )
    admins: Words = Field(
        default=(),
        description="Administrators among them: the name of `admin`, or `ISSUER#SUBJECT`.",
    )
    client_id: str = Field(
        default="",
        description="Client of the web pages at the provider; none: no login there.",
    )
    client_secret: SecretStr | None = Field(
        default=None, description="Secret of this client; without it the client is public."
    )
    authorization_url: str = Field(default="", description="Where the provider logs users in.")
    token_url: str = Field(
        default="", description="Where the provider exchanges a code for tokens."
    )
    scope: str = Field(default="openid", description="Scopes that a login requests.")


class Limits(Section):
    """Budgets of a request (security reference 5.6), and time limits for waiting.

    `document_bytes` is the limit for one entity, in bytes of JSON: for all its aspects, its
    properties, or one value in time; `realm_bytes` is the limit for all of these in a realm.
    """

    body_bytes: int = Field(
        default=1024 * 1024, ge=1, description="Largest body of an ordinary request."
    )
    header_bytes: int = Field(default=32 * 1024, ge=256, description="Largest head of a request.")
    url_bytes: int = Field(default=8 * 1024, ge=64, description="Longest URL.")
    request_seconds: float = Field(
        default=10.0,
        gt=0.0,
        description="Time for a body to arrive, and for the server to answer a request.",
    )
    wait_seconds: float = Field(
        default=2.0,
        ge=0.0,
        le=60.0,
        description="Longest wait for a newer revision that a request asks for.",
    )
    stale_seconds: float = Field(
        default=5.0,
        ge=0.0,
        le=60.0,
        description="How long the server answers without the database.",
    )
    batch_rows: int = Field(
        default=defaults.BATCH_ROWS, ge=1, description="Most questions or rows in one request."
    )
    page_rows: int = Field(
        default=defaults.PAGE_ROWS, ge=1, description="Most rows in one page of a list."
    )
    connections: int = Field(default=4_096, ge=1, description="Most open connections of a process.")
    connections_per_address: int = Field(
        default=512, ge=1, description="Most of them from one address that is not a trusted proxy."
    )
    caller_threads: int = Field(
        default=4, ge=1, description="Threads of a process that work for one caller at a time."
    )
    waiting_requests: int = Field(
        default=1_024, ge=1, description="Requests of a process that may wait for a thread."
    )
    caller_waiting_requests: int = Field(
        default=256, ge=1, description="Those of them that may belong to one caller."
    )
    document_bytes: int = Field(
        default=16 * 1024 * 1024, ge=1_024, description="Largest document of an entity, as JSON."
    )
    realm_bytes: int = Field(
        default=4 * 1024 * 1024 * 1024,
        ge=1_024,
        description="Total size of the documents of a realm.",
    )
    realm_documents: int = Field(
        default=20_000_000, ge=1, description="Number of documents of a realm."
    )


class Audit(Section):
    """Where, outside the database, the end of the audit trail is recorded, and how often.

    To an append-only file (`anchor_file`), to a URL that accepts a JSON object (`anchor_url`), to
    our log (`anchor_log`): every `anchor_seconds`, with 0 after every write.
    """

    anchor_file: Path | None = Field(
        default=None, description="File to which the end of the audit trail is appended."
    )
    anchor_url: str = Field(
        default="", description="Address to which the end of the audit trail is sent."
    )
    anchor_log: bool = Field(
        default=False, description="Whether the end of the audit trail is written to the log."
    )
    anchor_seconds: float = Field(
        default=60.0, ge=0.0, le=86_400.0, description="Interval of these; 0: after every write."
    )


class Retention(Section):
    """How long rows are kept that no decision needs; 0: forever."""

    token_days: int = Field(
        default=30,
        ge=0,
        le=36_500,
        description="Days after their end in which tokens and sessions stay in the database; 0: for"
        " good.",
    )
    usage_days: int = Field(
        default=400,
        ge=0,
        le=36_500,
        description="Days of which the database has counts of use; 0: all.",
    )


class Ui(Section):
    """The web pages below `/ui/`: whether they are served, and whether they run scenarios."""

    enabled: bool = Field(default=True, description="Whether the server has the web pages.")
    playground: bool = Field(
        default=defaults.PLAYGROUND, description="Whether callers may run scenarios."
    )


class Push(Section):
    """Databases to which the permissions of realms are pushed."""

    hosts: Hosts = Field(
        default=(),
        description="Allowed hosts of targets that are added over the API; none: add targets with"
        " `lakewarden push target add`.",
    )
    deliver: bool = Field(
        default=True,
        description="Whether the server pushes changes to followed targets; off if"
        " `lakewarden push deliver` does.",
    )
    watch_seconds: float = Field(
        default=0.0,
        ge=0.0,
        le=86_400.0,
        description="Interval in which the server checks targets for drift; 0: only"
        " `lakewarden push watch` does.",
    )
    webhook_url: SecretStr | None = Field(
        default=None,
        description="Address to which an event is posted when the drift of a target changes; a"
        " secret, because many receivers identify the sender by it.",
    )
    webhook_token_file: Path | None = Field(
        default=None, description="File with the bearer token for the webhook."
    )


class ServerSettings(BaseSettings):
    """The settings of `lakewarden serve`, without those of the systems.

    `consistency`: `strict` queries the store before each decision, `host` trusts the shared
    revision of this machine, which is correct only while no other machine writes to the store.
    (With SQLite the shared revision is always correct.) `stale_seconds` of `limits` is how long
    requests are answered while the store is unreachable.
    """

    model_config = SettingsConfigDict(
        extra="forbid",
        frozen=True,
        allow_inf_nan=False,
        env_prefix=PREFIX,
        env_nested_delimiter=_NESTED,
    )

    host: str = Field(
        default=defaults.HOST, min_length=1, description="Address on which the server listens."
    )
    port: int = Field(
        default=defaults.PORT, ge=0, le=65_535, description="Port on which the server listens."
    )
    database: str = Field(default=defaults.DATABASE, repr=False, description="URL of the database.")
    auth: Literal["simple", "token", "oidc"] = Field(
        default=defaults.AUTH,
        description="How callers authenticate; `simple`: by a name without proof.",
    )
    admin: Annotated[str, AfterValidator(user_name)] = Field(
        default=defaults.ADMIN, description="The first administrator of a new database."
    )
    add_admin: bool = Field(
        default=False,
        description="Whether `admin` becomes an administrator of a database that has others.",
    )
    workers: int = Field(default=defaults.WORKERS, ge=1, le=64, description="Number of processes.")
    indexes: Places = Field(
        default=(),
        description="Directories of `lakewarden pipeline index`, or their addresses on object"
        " stores; their realms start from them.",
    )
    insecure: bool = Field(
        default=False,
        description="Whether `simple` authentication may be reachable from other machines.",
    )
    root_token: SecretStr | None = Field(default=None, description="A bearer token of `admin`.")
    secret_keys: Keys = Field(
        default=(),
        description="Keys that encrypt secrets: the first one encrypts, all of them decrypt.",
    )
    consistency: Literal["strict", "host"] = Field(
        default="strict",
        description="`host`: no other machine writes to the database; `strict`: one may.",
    )
    public_url: Address = Field(default="", description="The address that clients use.")
    allowed_hosts: Hosts = Field(
        default=(),
        description="Accepted host names; none: all, with `simple` those of this machine.",
    )
    tls_cert: Path | None = Field(
        default=None, description="PEM file with the certificate of the server."
    )
    tls_key: Path | None = Field(default=None, description="PEM file with its key.")
    tls_client_ca: Path | None = Field(
        default=None, description="PEM file with the authorities of client certificates."
    )
    tls_principals: dict[CertificateName, Annotated[str, AfterValidator(user_name)]] = Field(
        default={}, description="The user of each client certificate."
    )
    trusted_proxies: Networks = Field(
        default=(), description="Networks whose `X-Forwarded-For` header the server trusts."
    )
    engine_loopback: Annotated[str, AfterValidator(user_name)] | None = Field(
        default=None,
        description="The user as whom engines of this machine ask that send no credentials.",
    )
    open_metrics: bool = Field(
        default=False, description="Whether `/metrics` needs no credentials."
    )
    log_level: Literal["debug", "info", "warning", "error"] = Field(
        default=defaults.LOG_LEVEL, description="The least severe messages that are logged."
    )
    oidc: Oidc = Oidc()
    limits: Limits = Limits()
    audit: Audit = Audit()
    ui: Ui = Ui()
    push: Push = Push()
    retention: Retention = Retention()
    rate_limits: RateLimits = RateLimits()
    trino: dict[Annotated[str, AfterValidator(realm_name)], TrinoRealm] = Field(
        default={}, description="What the Trino that asks a realm calls things, by realm."
    )
    ranger: dict[Annotated[str, AfterValidator(realm_name)], RangerRealm] = Field(
        default={}, description="The services that plugins of Apache Ranger download, by realm."
    )
    polaris: dict[Annotated[str, AfterValidator(realm_name)], PolarisRealm] = Field(
        default={}, description="What the Polaris that asks a realm calls things, by realm."
    )
    iceberg: dict[Annotated[str, AfterValidator(realm_name)], IcebergRealm] = Field(
        default={}, description="The Iceberg REST catalogs that a gateway guards, by realm."
    )
    spark: dict[Annotated[str, AfterValidator(realm_name)], SparkRealm] = Field(
        default={}, description="What the Spark behind a gateway calls things, by realm."
    )

    _origins: Mapping[str, Origin] = PrivateAttr(default_factory=dict)

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],  # noqa: ARG003 — the library's signature
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,  # noqa: ARG003 — the library's signature
        dotenv_settings: PydanticBaseSettingsSource,  # noqa: ARG003 — the library's signature
        file_secret_settings: PydanticBaseSettingsSource,  # noqa: ARG003 — the library's signature
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        """Uses only the values that `load` has merged."""
        return (init_settings,)

    @property
    def origins(self) -> Mapping[str, Origin]:
        """The sources of values that are not defaults, by the dotted names of the settings."""
        return self._origins

    def replaced(self, name: str, value: object, origin: Origin) -> Self:
        """The settings with a new value for one of them, from another source."""
        copied = self.model_copy(update={name: value})
        copied._origins = {**self._origins, name: origin}
        return copied

    @property
    def names_admin(self) -> bool:
        """Whether an administrator is named explicitly, not by default."""
        return "admin" in self.model_fields_set

    @property
    def is_loopback(self) -> bool:
        """Whether only this machine can reach the server."""
        if self.host == "localhost":
            return True
        try:
            return ipaddress.ip_address(self.host).is_loopback
        except ValueError:
            return False

    @property
    def is_encrypted(self) -> bool:
        """Whether clients reach the server by https, its own or a proxy's."""
        return self.tls_cert is not None or self.public_url.startswith("https://")

    @property
    def allows_unauthenticated(self) -> bool:
        """Whether some callers need no credentials."""
        return self.auth == "simple" or any(section.anonymous for section in self.systems.values())

    @property
    def systems(self) -> Mapping[str, SystemSettings]:
        """The sections of the systems, by the systems' names."""
        sections = ((name, getattr(self, name)) for name in type(self).model_fields)
        return {name: section for name, section in sections if isinstance(section, SystemSettings)}

    def of(self, section: type[S]) -> S:
        """The section of a system."""
        return next(value for value in self.systems.values() if isinstance(value, section))

    @property
    def own_hosts(self) -> tuple[str, ...]:
        """The names by which clients may address the server; none: any name.

        If the server accepts callers without credentials, a web page must not reach it under a name
        of its own that resolves to it. So only the names of this machine are accepted by default.
        """
        if self.allowed_hosts or not self.allows_unauthenticated:
            return self.allowed_hosts
        public = urlsplit(self.public_url).netloc
        own = f"[{self.host}]" if ":" in self.host else self.host
        return tuple(dict.fromkeys((*LOOPBACK_HOSTS, own, *filter(None, [public]))))

    @property
    def weakened(self) -> tuple[str, ...]:
        """The protections that are switched off, one sentence each."""
        warnings = []
        if self.auth == "simple":
            warnings.append("authentication is `simple`: callers are not authenticated")
        if self.auth == "simple" and not self.is_loopback:
            warnings.append(
                f"`insecure`: other machines reach `{self.host}` without authentication"
            )
        for section in self.systems.values():
            warnings += section.weakened()
        if self.allows_unauthenticated and "*" in self.allowed_hosts:
            warnings.append("`allowed_hosts`: any web page can send requests to this server")
        if self.auth != "simple" and not self.is_encrypted and not self.is_loopback:
            warnings.append(
                "tokens and passwords cross the network unencrypted: set `tls_cert` and `tls_key`,"
                " or as `public_url` the https address of what encrypts in front of the server"
            )
        if self.engine_loopback is not None:
            warnings.append(
                f"`engine_loopback`: whoever is on this machine asks as `{self.engine_loopback}`"
                " where engines ask"
            )
        if self.open_metrics:
            warnings.append("`open_metrics`: anybody may read the metrics")
        return tuple(warnings)

    @property
    def without_effect(self) -> tuple[str, ...]:
        """The settings that have no effect, one sentence each."""
        return tuple(note for section in self.systems.values() for note in section.without_effect())


def _with_systems() -> type[ServerSettings]:
    """The settings with a section for each system, and its additions to the server's settings."""
    fields: dict[str, Any] = {}
    for system, section in registry().with_part("settings"):
        fields[system.name] = (section, section())
        fields.update(section.server_fields)
    doc = "Everything that `lakewarden serve` needs to know."
    return create_model(
        "Settings", __base__=ServerSettings, __module__=__name__, __doc__=doc, **fields
    )


if TYPE_CHECKING:

    class Settings(ServerSettings):
        """Everything that `lakewarden serve` needs to know."""

        def __init__(self, **values: Any) -> None: ...
        def __getattr__(self, name: str) -> Any: ...

else:
    Settings = _with_systems()


def load(
    file: Path | None = None,
    options: Mapping[str, object] | None = None,
    environment: Mapping[str, str] | None = None,
) -> Settings:
    """The merged settings of the command line (`options`), the environment and the file.

    An option that is None is not set. Raises `BadInput` that names key and place.
    """
    variables = os.environ if environment is None else environment
    _check_variables(variables)
    sources = {
        "command line": {key: value for key, value in (options or {}).items() if value is not None},
        "environment": _environment(variables),
        str(file): _file(file),
    }
    values: dict[str, Any] = {}
    for source in reversed(sources.values()):
        values = merged(values, source)
    try:
        settings = Settings(**values)
    except ValidationError as error:
        raise _refused(error, sources) from None
    settings._origins = dict(_origins(Settings, sources, file, variables))
    if settings.add_admin and not settings.names_admin:
        raise BadInput("`add_admin` requires `admin`, the name of the new administrator")
    check(settings)
    return settings


def check(settings: Settings) -> None:
    """Refuses invalid combinations of valid values; raises `BadInput`."""
    if settings.auth == "simple" and not settings.is_loopback and not settings.insecure:
        raise BadInput(
            f"`simple` does not authenticate callers, so the server must not listen on"
            f" `{settings.host}`; use `--auth token`, a loopback address, or `--insecure`"
        )
    exposed = not settings.is_loopback and not settings.insecure
    for section in settings.systems.values():
        section.check(settings.host, exposed=exposed)
    if settings.tls_cert is None and (settings.tls_key or settings.tls_client_ca):
        raise BadInput("`tls_key` and `tls_client_ca` require `tls_cert`")
    if settings.tls_principals and settings.tls_client_ca is None:
        raise BadInput("`tls_principals` requires `tls_client_ca`")
    for name, trino in settings.trino.items():
        if trino.realms and name not in trino.realms:
            raise BadInput(f"`trino.{name}.realms` must contain `{name}`")
    oidc = settings.oidc
    if settings.auth == "oidc":
        for key in ("issuer", "audience"):
            if not getattr(oidc, key):
                raise BadInput(f"`oidc` authentication requires the setting `oidc.{key}`")
        if bool(oidc.jwks_url) == bool(oidc.jwks_file):
            raise BadInput(
                "`oidc` authentication requires one of the settings `oidc.jwks_url` and"
                " `oidc.jwks_file`"
            )
        for name in oidc.admins:
            if name != settings.admin and not name.startswith(f"{oidc.issuer}#"):
                raise BadInput(
                    f"`oidc.admins` has `{name}`, which is neither the administrator"
                    f" `{settings.admin}` nor `{oidc.issuer}#SUBJECT`"
                )
        if oidc.jwks_url and not _is_trusted(oidc.jwks_url):
            raise BadInput("`oidc.jwks_url` must be `https://` or an address of this machine")
        if oidc.client_id:
            _check_code_flow(oidc)
    _check_posted("audit.anchor_url", settings.audit.anchor_url)
    if settings.push.webhook_url is not None:
        _check_posted("push.webhook_url", settings.push.webhook_url.get_secret_value())
    root = settings.root_token
    if root is not None:
        check_root_token(root.get_secret_value())


def _check_code_flow(oidc: Oidc) -> None:
    for key in ("authorization_url", "token_url"):
        if not _is_trusted(getattr(oidc, key)):
            raise BadInput(f"`oidc.{key}` must be `https://` or an address of this machine")
    if "openid" not in oidc.scope.split():
        raise BadInput("`oidc.scope` must contain `openid`")


def _check_posted(name: str, url: str) -> None:
    if url and not _is_trusted(url):
        raise BadInput(f"`{name}` must be `https://` or an address of this machine")


def _is_trusted(url: str) -> bool:
    try:
        parts = urlsplit(url)
    except ValueError:
        return False
    if parts.scheme == "https":
        return True
    return parts.scheme == "http" and parts.hostname in ("localhost", "127.0.0.1", "::1")


def _file(file: Path | None) -> dict[str, Any]:
    if file is None:
        return {}
    try:
        return tomllib.loads(file.read_text(encoding="utf-8"))
    except OSError as error:
        raise BadInput((error.strerror or str(error)).lower(), where=str(file)) from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        reason = str(error).splitlines()[0]
        raise BadInput(f"{reason[:1].lower()}{reason[1:]}", where=str(file)) from None


def _environment(variables: Mapping[str, str]) -> dict[str, Any]:
    source = EnvSettingsSource(Settings)
    source.env_vars = {name.lower(): value for name, value in variables.items()}
    sections = registry().with_part("settings")
    own = {system.name: section.from_environment(variables) for system, section in sections}
    try:
        values = source()
    except SettingsError as error:
        named = _NAMED.search(str(error))
        variable = PREFIX + named[1].upper() if named else PREFIX
        raise BadInput("expected a table as JSON", where=f"environment: {variable}") from None
    return merged({name: value for name, value in own.items() if value}, values)


def _check_variables(variables: Mapping[str, str]) -> None:
    declared = set(_variables(Settings, PREFIX))
    for name in sorted(variables):
        is_ours = name.upper().startswith(PREFIX) and name not in NOT_SETTINGS
        if is_ours and name.upper() not in declared:
            raise BadInput(f"the environment variable `{name}` is not a setting")


def _variables(section: type[BaseModel], prefix: str) -> Iterator[str]:
    """The names of the variables for all settings of a section."""
    for name, field in section.model_fields.items():
        inner = field.annotation
        if isinstance(inner, type) and issubclass(inner, BaseModel):
            yield from _variables(inner, f"{prefix}{name.upper()}{_NESTED}")
        else:
            yield prefix + name.upper()


def _origins(
    section: type[BaseModel],
    sources: Mapping[str, Mapping[str, Any]],
    file: Path | None,
    variables: Mapping[str, str],
    path: tuple[str, ...] = (),
) -> Iterator[tuple[str, Origin]]:
    """The settings of a section that some source sets, each with the first source that sets it."""
    names = {name.upper() for name in variables}
    for name, field in section.model_fields.items():
        inner, at = field.annotation, (*path, name)
        if isinstance(inner, type) and issubclass(inner, BaseModel):
            yield from _origins(inner, sources, file, variables, at)
            continue
        place = next((name for name, source in sources.items() if _has(source, list(at))), None)
        variable = PREFIX + _NESTED.join(at).upper()
        if place == "command line":
            yield ".".join(at), Origin("option")
        elif place == "environment":
            yield ".".join(at), Origin("variable", variable if variable in names else "")
        elif place is not None:
            yield ".".join(at), Origin("file", str(file))


def _refused(error: ValidationError, sources: Mapping[str, Mapping[str, Any]]) -> BadInput:
    """The first error, with the source of the value."""
    first = error.errors(include_url=False, include_input=False)[0]
    path = [str(part) for part in first["loc"]]
    key = ".".join(path)
    where = next((place for place, source in sources.items() if _has(source, path)), "settings")
    if first["type"] == "extra_forbidden":
        return BadInput(f"unknown setting `{key}`", where=where)
    reason = re.sub(r"^Value error, ", "", first["msg"])
    return BadInput(f"`{key}`: {reason[:1].lower()}{reason[1:]}", where=where)


def _has(source: Mapping[str, Any], path: list[str]) -> bool:
    at: Any = source
    for part in path:
        if not isinstance(at, Mapping):
            return True
        if part not in at:
            return False
        at = at[part]
    return True
