"""AWS Glue and Lake Formation, asked over their APIs.

Read are the replies that `lake_formation` also reads from files: GetDatabases, then GetTables of
each, then ListPermissions, of one catalog of one account and region. Permissions come last, so
that what was revoked meanwhile is not granted here. What AWS refuses, or cannot answer after some
tries, ends the reading, and nothing is published.

Credentials are those that AWS's own tools take: variables, profiles, roles. They are no part of
the address, of a message or of what is written.

SOURCE: AWS Glue API reference, GetDatabases and GetTables; Lake Formation API reference,
ListPermissions; botocore documentation, Credentials and Retries.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Callable, Iterator, Mapping
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
    DATABASES,
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


@dataclass(frozen=True, slots=True)
class AwsGlue:
    """The Data Catalog of a region; `catalog_id` is empty for that of the account that asks."""

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
        """See `Source`: what a catalog has is known only when it is read."""

    def read(
        self, spark: SparkSession, system: System, scratch: Location, progress: Progress
    ) -> Reading:
        """See `Source`."""
        declared = mapping("glue", system.model)
        content = content_of(declared, self.metalake, self.catalog, ())
        account = _Account(self.region, self.catalog_id, progress)
        for record in account.records():
            content.take(record)
        return reading(content, system.model, f"aws://{self.region}/{account.catalog_id}")


class _Account:
    """One reading of the catalog of one account, page by page."""

    def __init__(self, region: str, catalog_id: str, progress: Progress) -> None:
        open_client = _clients(region)
        self._progress = progress
        self._glue, self._permissions = open_client("glue"), open_client("lakeformation")
        self.catalog_id = catalog_id or _account_of(open_client("sts"))
        self._pages = Pages(self.catalog_id, takes_others=True)
        self._requests = 0

    def records(self) -> Iterator[Record]:
        """What the catalog has, and who may do what there."""
        databases = []
        for page in self._asked(self._glue.get_databases, DATABASES):
            listed = Section(page, DATABASES).tables(DATABASES)
            databases += [one.text("Name") for one in listed if not one.take(LINKED_DATABASE)]
            yield from self._read(page, "GetDatabases")
        for name in databases:
            for page in self._asked(self._glue.get_tables, TABLES, DatabaseName=name):
                yield from self._read(page, f"GetTables of {name}")
        for page in self._asked(self._permissions.list_permissions, PERMISSIONS):
            yield from self._read(page, "ListPermissions")

    def _read(self, page: Mapping[str, object], where: str) -> Iterator[Record]:
        return self._pages.read(Section(page, where))

    def _asked(self, ask: Ask, holds: str, **about: str) -> Iterator[Mapping[str, object]]:
        """All pages of an operation; raises for one that is given for the second time."""
        token, seen = "", set[str]()
        for _ in range(_MOST_PAGES):
            more = {"NextToken": token} if token else {}
            reply = _answer(ask, CatalogId=self.catalog_id, **about, **more)
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


def _clients(region: str) -> Callable[[str], Any]:
    """What opens the client of a service. Raises `Unavailable` without the library."""
    try:
        from botocore.config import Config
        from botocore.session import get_session
    except ImportError:
        raise not_installed("botocore", "aws", where=AwsGlue.kind) from None
    logger = logging.getLogger("botocore")
    logger.setLevel(max(logger.level, logging.INFO))  # below, it writes tokens of sessions
    session = get_session()
    config = Config(
        region_name=region,
        retries={"mode": "standard", "total_max_attempts": TRIES},
        connect_timeout=_SECONDS,
        read_timeout=_SECONDS,
    )
    return lambda service: _answer(session.create_client, service, config=config)


def _account_of(sts: Any) -> str:
    """The account of whoever asks, whose catalog is called as it is."""
    return str(_answer(sts.get_caller_identity)["Account"])


def _answer(ask: Callable[..., Any], *words: object, **about: object) -> Any:
    """What AWS says; raises `BadInput` where it refuses, `Unavailable` where it cannot answer.

    Messages about credentials and signatures are not repeated: they may have parts of them.
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
    is_refused = error.response.get("ResponseMetadata", {}).get("HTTPStatusCode") in (400, 403)
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
