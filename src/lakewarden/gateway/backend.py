"""The Spark Connect server behind the gateway."""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Self
from urllib.parse import parse_qsl, urlsplit

import grpc
from pyspark.sql.connect.proto import base_pb2 as base
from pyspark.sql.connect.proto import relations_pb2 as relations

from lakewarden.gateway import identifiers, local_rows, permitted
from lakewarden.gateway.access import Name
from lakewarden.gateway.inspection import MAX_BYTES
from lakewarden.gateway.types import sql_type
from lakewarden.kernel.errors import BadInput, Unavailable
from lakewarden.service.steps import step

SERVICE: Final = "spark.connect.SparkConnectService"
DEFAULT_PORT: Final = 15_002
ACCOUNT: Final = "lakewarden"
"""The user in whose session the settings are read."""

OPTIONS: Final = (
    ("grpc.max_send_message_length", 2 * MAX_BYTES),
    ("grpc.max_receive_message_length", 2 * MAX_BYTES),
)
_CHECK_SECONDS: Final = 30.0
_COLUMNS_SECONDS: Final = 60.0


@dataclass(frozen=True, slots=True)
class Address:
    """The address of the server, and whether it uses TLS."""

    target: str
    tls: bool = False

    @classmethod
    def read(cls, text: str) -> Self:
        """Parses a `sc://` URL; raises `BadInput`.

        >>> Address.read("sc://127.0.0.1")
        Address(target='127.0.0.1:15002', tls=False)
        """
        url = urlsplit(text)
        parameters = dict(parse_qsl(url.path.removeprefix("/").replace(";", "&")))
        tls = parameters.pop("use_ssl", "false") == "true"
        try:
            port = url.port or DEFAULT_PORT
        except ValueError:
            port = 0
        if url.scheme != "sc" or not url.hostname or not port or parameters:
            raise BadInput(f"expected `sc://HOST:PORT` or `sc://HOST:PORT/;use_ssl=true`: `{text}`")
        host = f"[{url.hostname}]" if ":" in url.hostname else url.hostname
        return cls(f"{host}:{port}", tls)


@dataclass
class Backend:
    """A channel to the server. Calls are forwarded as bytes, with the server's token."""

    address: Address
    token: str
    channel: grpc.Channel = field(init=False)

    def __post_init__(self) -> None:
        target = self.address.target
        if self.address.tls:
            credentials = grpc.ssl_channel_credentials()
            self.channel = grpc.secure_channel(target, credentials, options=OPTIONS)
        else:
            self.channel = grpc.insecure_channel(target, options=OPTIONS)

    def unary(self, method: str, request: Any, timeout: float | None) -> bytes:
        """The response to a call; raises `grpc.RpcError`."""
        call = self.channel.unary_unary(f"/{SERVICE}/{method}")
        with step("call Spark", calls="spark"):
            answer: bytes = call(request.SerializeToString(), timeout, self._metadata)
        return answer

    def stream(self, method: str, request: Any, timeout: float | None) -> Any:
        """The stream of responses to a call, which can be cancelled."""
        call = self.channel.unary_stream(f"/{SERVICE}/{method}")
        return call(request.SerializeToString(), timeout, self._metadata)

    def columns(self, user: base.UserContext, session: str, name: Name) -> Mapping[str, str]:
        """The columns of a table with the names of their types, in order; raises like `unary`."""
        request = base.AnalyzePlanRequest(user_context=user, session_id=session)
        table = relations.Read.NamedTable(unparsed_identifier=identifiers.join(name))
        request.schema.plan.root.read.named_table.CopyFrom(table)
        answer = base.AnalyzePlanResponse()
        answer.ParseFromString(self.unary("AnalyzePlan", request, _COLUMNS_SECONDS))
        fields = answer.schema.schema.struct.fields
        return {one.name: sql_type(one.data_type) for one in fields}

    def rows(
        self, user: base.UserContext, session: str, plan: relations.Relation
    ) -> list[dict[str, Any]]:
        """All rows of a plan; raises like `unary`."""
        request = base.ExecutePlanRequest(user_context=user, session_id=session)
        request.plan.root.CopyFrom(plan)
        with step("call Spark", calls="spark"):
            return local_rows.read(self.stream("ExecutePlan", request, _COLUMNS_SECONDS))

    def explained(self, user: base.UserContext, session: str, plan: relations.Relation) -> str:
        """Spark's explanation of a plan, with the analyzed plan; raises like `unary`."""
        request = base.AnalyzePlanRequest(user_context=user, session_id=session)
        request.explain.plan.root.CopyFrom(plan)
        request.explain.explain_mode = base.AnalyzePlanRequest.Explain.EXPLAIN_MODE_EXTENDED
        answer = base.AnalyzePlanResponse()
        answer.ParseFromString(self.unary("AnalyzePlan", request, _COLUMNS_SECONDS))
        return str(answer.explain.explain_string)

    def check(self) -> None:
        """Raises `BadInput` for a server that is not safe behind a gateway, and `Unavailable`.

        It must refuse calls without its token, and have the required settings.
        """
        try:
            self._check_settings()
        except grpc.RpcError as error:
            raise Unavailable(
                f"the Spark Connect server does not answer: {_error_text(error)}"
            ) from None
        call = self.channel.unary_unary(f"/{SERVICE}/Config")
        try:
            call(_settings_request().SerializeToString(), _CHECK_SECONDS)
        except grpc.RpcError as error:
            if error.code() == grpc.StatusCode.UNAUTHENTICATED:
                return
        raise BadInput(
            "the Spark Connect server takes calls without a token:"
            " set `spark.connect.authenticate.token` on it"
        )

    def _check_settings(self) -> None:
        answer = base.ConfigResponse()
        answer.ParseFromString(self.unary("Config", _settings_request(), _CHECK_SECONDS))
        found = {pair.key: pair.value for pair in answer.pairs}
        for name, value in permitted.load().required.items():
            if found.get(name) != value:
                raise BadInput(f"the Spark Connect server must have `{name}` = `{value}`")

    @property
    def _metadata(self) -> tuple[tuple[str, str], ...]:
        return (("authorization", f"Bearer {self.token}"),)


def _settings_request() -> base.ConfigRequest:
    request = base.ConfigRequest(session_id=str(uuid.uuid4()))
    request.user_context.user_id = ACCOUNT
    request.operation.get.keys.extend(permitted.load().required)
    return request


def _error_text(error: grpc.RpcError) -> str:
    return f"{error.code().name.lower()}: {error.details()}"
