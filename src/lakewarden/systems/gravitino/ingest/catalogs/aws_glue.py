"""AWS Glue and Lake Formation, queried over their APIs.

Reads the replies that `lake_formation` also reads from files: GetDatabases, then GetTables for
each, then ListPermissions, of one catalog of one account and region. Permissions are read after the
objects they are on, so a permission revoked meanwhile is not granted here. Then follow the row
policies, and the LF-tags and filters that permissions and policies name. If AWS rejects a request,
or cannot answer after some retries, reading fails and nothing is published. If a region does not
support an operation, its data is empty, and the report says so.

Credentials are those of AWS's own tools: variables, profiles, roles. They are in no address,
message or output.

SOURCE: AWS Glue API reference, GetDatabases and GetTables; Lake Formation API reference,
ListPermissions, ListRLSPolicyAttachments, ListLFTags, SearchTablesByLFTags, ListLFTagExpressions
and ListDataCellsFilter; botocore documentation, Credentials and Retries.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Final, TypeAlias

from lakewarden.kernel.errors import BadInput, Unavailable, not_installed
from lakewarden.kernel.toml_section import Section
from lakewarden.names.canonical import escaped
from lakewarden.pipeline.extract.original import TRIES
from lakewarden.pipeline.ingest.opener import Opener, Options
from lakewarden.pipeline.ingest.source import Progress, Reading
from lakewarden.pipeline.storage.location import Location
from lakewarden.service.system import System
from lakewarden.systems.gravitino.ingest.catalogs.asked import reading
from lakewarden.systems.gravitino.ingest.catalogs.lake_formation import (
    ATTACHMENTS,
    DATABASES,
    EXPRESSIONS,
    FILTERS,
    LINKED_DATABASE,
    PERMISSIONS,
    TABLES,
    Pages,
)
from lakewarden.systems.gravitino.ingest.catalogs.mapping import mapping
from lakewarden.systems.gravitino.ingest.catalogs.records import Record
from lakewarden.systems.gravitino.ingest.catalogs.source import content_of

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

Ask: TypeAlias = Callable[..., Mapping[str, Any]]
"""One operation of a service."""

_ADDRESS: Final = re.compile(r"aws://([a-z0-9-]+)(?:/(.+))?")
_MOST_PAGES: Final = 1_000_000
_SECONDS: Final = 60
_LONGEST_MESSAGE: Final = 200
_NO_CREDENTIALS: Final = frozenset(
    {
        "CredentialRetrievalError",
        "NoCredentialsError",
        "PartialCredentialsError",
        "ProfileNotFound",
        "SSOTokenLoadError",
        "TokenRetrievalError",
        "UnauthorizedSSOTokenError",
    }
)
_REFUSED_CREDENTIALS: Final = frozenset(
    {
        "ExpiredToken",
        "ExpiredTokenException",
        "IncompleteSignature",
        "InvalidClientTokenId",
        "InvalidSignatureException",
        "MissingAuthenticationToken",
        "SignatureDoesNotMatch",
        "UnrecognizedClientException",
    }
)
_BUSY: Final = re.compile(r".*(Throttl|TooManyRequests|LimitExceeded|SlowDown).*")
_CHANGED: Final = "EntityNotFoundException"
_UNSERVED: Final = frozenset({404, 501})
_TAGS: Final = "LFTags"
_MOST_VALUES: Final = 50
"""The number of values of a tag in one search."""


@dataclass(frozen=True, slots=True)
class AwsGlue:
    """The Data Catalog of a region; `catalog_id` is empty for that of the caller's account."""

    kind: ClassVar[str] = "glue"
    model: ClassVar[str] = "gravitino"
    region: str
    metalake: str
    catalog: str
    catalog_id: str = ""

    @property
    def options(self) -> Mapping[str, str]:
        return {"metalake": self.metalake, "catalog": self.catalog}

    def inputs(self) -> None:
        """See `Source`: the content of a catalog is only known once it is read."""

    def read(
        self, spark: SparkSession, system: System, scratch: Location, progress: Progress
    ) -> Reading:
        """See `Source`."""
        declared = mapping("glue", system.model)
        content = content_of(declared, self.metalake, self.catalog, ())
        account = _Account(self.region, self.catalog_id, progress)
        for record in account.records():
            content.add_record(record)
        name = f"aws://{self.region}/{account.catalog_id}"
        return reading(content, system.model, name, account.unserved)


class _Account:
    """One reading of the catalog of one account, page by page."""

    def __init__(self, region: str, catalog_id: str, progress: Progress) -> None:
        open_client = _clients(region)
        self._progress = progress
        self._glue, self._permissions = open_client("glue"), open_client("lakeformation")
        self.catalog_id = catalog_id or _account_of(open_client("sts"))
        self._pages = Pages(self.catalog_id, takes_others=True)
        self._requests = 0
        self.unserved: list[str] = []

    def records(self) -> Iterator[Record]:
        """The objects of the catalog, and their permissions."""
        databases = []
        for page in self._pages_of(self._glue.get_databases, DATABASES, **self._catalog):
            listed = Section(page, DATABASES).tables(DATABASES)
            databases += [one.text("Name") for one in listed if not one.take(LINKED_DATABASE)]
            yield from self._read(page, "GetDatabases")
        for name in databases:
            for page in self._pages_of(
                self._glue.get_tables, TABLES, **self._catalog, DatabaseName=name
            ):
                yield from self._read(page, f"GetTables of {name}")
        lake = self._permissions
        for page in self._pages_of(lake.list_permissions, PERMISSIONS, **self._catalog):
            yield from self._read(page, "ListPermissions")
        attachments = _operation(lake, "list_rls_policy_attachments")
        for page in self._pages_if_served(attachments, ATTACHMENTS):
            yield from self._read(page, "ListRLSPolicyAttachments")
        yield from self._named()
        yield from self._pages.rest()

    def _named(self) -> Iterator[Record]:
        """The filters, expressions and tags that permissions and row policies name."""
        lake, catalog = self._permissions, self._catalog
        for database, name in sorted(self._pages.filtered()):
            table = {**catalog, "DatabaseName": database, "Name": name}
            for page in self._pages_of(lake.list_data_cells_filter, FILTERS, Table=table):
                yield from self._read(page, "ListDataCellsFilter")
        policies = self._pages.tag_policies()
        if any(policy.name for policy in policies):
            for page in self._pages_if_served(lake.list_lf_tag_expressions, EXPRESSIONS, **catalog):
                yield from self._read(page, "ListLFTagExpressions")
        keys = {key for policy in policies for key, _ in self._pages.tags.wanted(policy)}
        for tag in self._values(keys):
            for ask, holds in (
                (lake.search_databases_by_lf_tags, DATABASES),
                (lake.search_tables_by_lf_tags, TABLES),
            ):
                for page in self._pages_if_served(ask, holds, **catalog, Expression=[tag]):
                    yield from self._read(page, f"what has the LF-tag {tag['TagKey']}")

    def _values(self, keys: Collection[str]) -> Iterator[Mapping[str, object]]:
        """All values of LF-tags, in groups of the size that one search supports.

        Values that no permission names are searched for, too: a column may have such a value
        instead of its table's.
        """
        if not keys:
            return
        for page in self._pages_of(self._permissions.list_lf_tags, _TAGS, **self._catalog):
            for tag in Section(page, "ListLFTags").tables(_TAGS):
                key, values = tag.text("TagKey"), tag.texts("TagValues")
                for start in range(0, len(values) if key.lower() in keys else 0, _MOST_VALUES):
                    some = list(values[start : start + _MOST_VALUES])
                    yield {"TagKey": key, "TagValues": some}

    @property
    def _catalog(self) -> dict[str, str]:
        return {"CatalogId": self.catalog_id}

    def _read(self, page: Mapping[str, object], where: str) -> Iterator[Record]:
        return self._pages.read(Section(page, where))

    def _pages_if_served(
        self, ask: Ask, holds: str, **about: object
    ) -> Iterator[Mapping[str, object]]:
        """All pages of an operation; none if the region does not support it."""
        try:
            yield from self._pages_of(ask, holds, **about)
        except _Unserved:
            self.unserved.append(f"`{holds}`, for which this endpoint has no operation")

    def _pages_of(self, ask: Ask, holds: str, **about: object) -> Iterator[Mapping[str, object]]:
        """All pages of an operation; raises for a page that is returned a second time."""
        token, seen = "", set[str]()
        for _ in range(_MOST_PAGES):
            more = {"NextToken": token} if token else {}
            reply = _answer(ask, **about, **more)
            self._requests += 1
            self._progress("read", 0, 1, f"{self._requests:,} requests")
            yield {holds: reply.get(holds, [])}
            token = reply.get("NextToken") or ""
            if not token:
                return
            if token in seen:
                raise BadInput("a page is given for the second time", where=holds)
            seen.add(token)
        raise Unavailable(f"more than {_MOST_PAGES:,} pages of {holds}")


class _Unserved(Unavailable):
    """The operation does not exist."""


def _clients(region: str) -> Callable[[str], Any]:
    """A function that creates the client of a service. Raises `Unavailable` without the library."""
    try:
        from botocore.config import Config
        from botocore.session import get_session
    except ImportError:
        raise not_installed("botocore", "aws", where=AwsGlue.kind) from None
    logger = logging.getLogger("botocore")
    logger.setLevel(max(logger.level, logging.INFO))  # at DEBUG it logs session tokens
    session = get_session()
    config = Config(
        region_name=region,
        retries={"mode": "standard", "total_max_attempts": TRIES},
        connect_timeout=_SECONDS,
        read_timeout=_SECONDS,
    )
    return lambda service: _answer(session.create_client, service, config=config)


def _operation(client: object, name: str) -> Ask:
    """An operation of a client. Raises `Unavailable` if the library is too old for it."""
    found: Ask | None = getattr(client, name, None)
    if found is None:
        message = f"botocore is too old and has no `{name}`: pip install -U botocore"
        raise Unavailable(message)
    return found


def _account_of(sts: Any) -> str:
    """The caller's account, which is also the id of its catalog."""
    return str(_answer(sts.get_caller_identity)["Account"])


def _answer(ask: Callable[..., Any], *words: object, **about: object) -> Any:
    """The response of AWS; raises `BadInput` for a rejection, `Unavailable` if it cannot answer.

    Messages about credentials and signatures are not repeated, since they may contain parts of
    them.
    """
    from botocore.exceptions import BotoCoreError, ClientError

    try:
        return ask(*words, **about)
    except ClientError as error:
        raise _refused(error) from None
    except BotoCoreError as error:
        name = type(error).__name__
        if name in _NO_CREDENTIALS:
            raise BadInput(f"there are no AWS credentials that can be used ({name})") from None
        raise Unavailable(f"AWS cannot be asked: {_short(str(error))}") from None


def _refused(error: Any) -> BadInput | Unavailable:
    code = str(error.response["Error"]["Code"])
    if code in _REFUSED_CREDENTIALS:
        return BadInput(f"AWS refuses the credentials ({escaped(code)})")
    said = _short(f"{error.operation_name}: {code}: {error.response['Error'].get('Message', '')}")
    if code == _CHANGED:
        return Unavailable(f"the catalog changed while it was read, {said}; read it again")
    status = error.response.get("ResponseMetadata", {}).get("HTTPStatusCode")
    if status in _UNSERVED:
        return _Unserved(f"AWS cannot answer {said}")
    is_refused = status in (400, 403)
    if is_refused and _BUSY.fullmatch(code) is None:
        return BadInput(f"AWS refuses {said}")
    return Unavailable(f"AWS cannot answer {said}")


def _short(text: str) -> str:
    return escaped(" ".join(text.split())[:_LONGEST_MESSAGE])


def _open(url: str, _: str, options: Options) -> AwsGlue:
    found = _ADDRESS.fullmatch(url)
    if found is None:
        raise BadInput("expected aws://REGION or aws://REGION/CATALOG-ID, without a user")
    return AwsGlue(found[1], catalog_id=found[2] or "", **options)


GLUE: Final = Opener(
    ("gravitino",),
    _open,
    options=("metalake", "catalog"),
    required=("metalake", "catalog"),
    is_url=True,
)
