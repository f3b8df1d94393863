"""The parts of a Ranger admin's public REST API that a push needs.

Source: apache/ranger, `PublicAPIsv2.java`, `TagREST.java`, `TagValidator.java` and
`ServiceTagsProcessor.java` of `security-admin/src/main/java/org/apache/ranger/rest` and
`agents-common` at 8e7716cd3c36.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from http import HTTPStatus
from typing import Any, Final
from urllib.parse import quote

import httpx
import msgspec

from lakewarden.kernel.errors import BadInput, Conflict, Unavailable, Unknown
from lakewarden.pushdown.ranger import requests
from lakewarden.pushdown.ranger.address import RangerAddress
from lakewarden.pushdown.ranger.requests import API, TAGS, Request
from lakewarden.pushdown.ranger.state import ZONE_NAME

Json = dict[str, Any]

PAGE: Final = 200
"""The number of policies per page."""

TIMEOUT_SECONDS: Final = 30.0
"""The time limit for each part of a response."""

ANSWER_SECONDS: Final = 300.0
"""The time limit for a whole response, however slowly it arrives."""

TRIES: Final = 4
_FIRST_PAUSE_SECONDS: Final = 0.5
_AGAIN: Final = frozenset({429, 502, 503, 504})
"""Statuses by which a proxy reports that the admin is busy or unreachable."""

_REFUSED: Final = frozenset({400, 409})
_WRAPPED: Final = ("policies", "roles", "securityZones")
_TAG_SERVICE: Final = "tag"
_MOST_PAGES: Final = 100_000
_MESSAGE_CHARACTERS: Final = 300


class Admin:
    """A Ranger admin and one service of it.

    Requests are repeated if the response was lost: each of them may be executed twice. Raises
    `Unavailable` if the admin does not respond, `Conflict` if somebody changed the object of a
    request, `Unknown` if there is no such service, and `BadInput` if rights are missing.
    """

    def __init__(
        self,
        address: RangerAddress,
        sleep: Callable[[float], None] = time.sleep,
        clock: Callable[[], float] = time.monotonic,
        before: Callable[[], object] = lambda: None,
    ) -> None:
        """`before` is called before each request, and may raise."""
        self.service, self.file_system = address.service, address.file_system
        self.zone, self.tags = address.zone, address.tags
        self._user, self._sleep, self._clock = address.user, sleep, clock
        self._before = before
        self._seconds_between, self._next = 1 / address.rate, 0.0
        self.requests = 0
        self._client = httpx.Client(
            base_url=address.base,
            auth=(address.user, address.password),
            headers={"accept": "application/json"},
            timeout=TIMEOUT_SECONDS,
            verify=address.verification() if address.base.startswith("https") else False,
            follow_redirects=False,
            trust_env=False,
        )

    def close(self) -> None:
        """Closes the connections."""
        self._client.close()

    # --- what there is ---

    def service_type(self) -> str:
        """The type of the service; raises `Unknown` if there is none of that name.

        With `tags`, these must be the service of tags that it is linked with; otherwise raises
        `BadInput`.
        """
        found = self._service_named(self.service)
        linked = str(found.get("tagService") or "")
        if self.tags and linked != self.tags:
            message = f"the service `{self.service}` is not linked with `{self.tags}`"
            message += f", but with `{linked}`" if linked else ""
            raise BadInput(f"{message}; select it as tag service in Ranger", where="url")
        if self.tags:
            type = str(self._service_named(self.tags).get("type", ""))
            if type != _TAG_SERVICE:
                message = f"the service `{self.tags}` is of type `{type}`, expected `tag`"
                raise BadInput(message, where="url")
        return str(found.get("type", ""))

    def tag_definition(self) -> Json:
        """The definition of the service type for policies about tags."""
        return self.definition(_TAG_SERVICE)

    def _service_named(self, name: str) -> Json:
        answer = self._send("GET", f"{API}/service/name/{quote(name, safe='')}")
        if answer.status_code in (HTTPStatus.NOT_FOUND, *_REFUSED):
            raise Unknown("service of Ranger", name, "Ranger's own UI lists the services")
        return self._object(answer)

    def definition(self, type: str) -> Json:
        """The definition of a service type."""
        return self._object(self._send("GET", f"{API}/servicedef/name/{quote(type, safe='')}"))

    def policies(self, zones: Iterable[str] = (), service: str = "") -> Iterator[Json]:
        """The policies of the service, or of another one, in no zone and in these, each once.

        They are in order of ids. Ranger lists a zone's policies only in a request for that zone.
        """
        path = f"/service/{quote(service or self.service, safe='')}/policy"
        seen: set[object] = set()
        for zone in ("", *zones):
            query = {"sortBy": "policyId"} | ({ZONE_NAME: zone} if zone else {})
            for policy in self._paged(path, query):
                if policy.get("id") not in seen:
                    seen.add(policy.get("id"))
                    yield policy

    def zones(self) -> list[Json] | None:
        """All security zones; None if the account may not see them.

        A Ranger without zones has none. A Ranger that refuses the account responds with 400.
        """
        found: dict[str, Json] = {}
        hidden = (HTTPStatus.FORBIDDEN, HTTPStatus.BAD_REQUEST)
        for _ in range(_MOST_PAGES):
            window = {"startIndex": str(len(found)), "pageSize": str(PAGE)}
            answer = self._send("GET", f"{API}/zones", params=window, allowed=hidden)
            if answer.status_code in hidden:
                return None
            rows = [] if answer.status_code == HTTPStatus.NOT_FOUND else self._list(answer)
            new = {str(one.get("name", "")): one for one in rows}
            if new.keys() <= found.keys():
                return [*found.values()]
            found |= new
        raise Unavailable("Ranger's list of security zones has no end")

    def roles(self) -> Iterator[Json]:
        """All roles."""
        yield from self._paged("/roles", {})

    def plugins(self) -> list[Json] | None:
        """The state of the service's plugins; None if the account may not see it."""
        answer = self._send("GET", f"{API}/plugins/info", allowed=(HTTPStatus.FORBIDDEN,))
        if not answer.is_success:
            return None
        return [one for one in self._list(answer) if one.get("serviceName") == self.service]

    # --- changes ---

    def create_policy(self, policy: Json, /) -> Json:
        """Creates a policy; returns an identical one that already exists."""
        answer = self._do(requests.create_policy(policy))
        if answer.status_code in _REFUSED:
            zone = str(policy.get(ZONE_NAME) or "")
            found = self._named(
                f"/service/{quote(policy['service'], safe='')}/policy/"
                f"{quote(policy['name'], safe='')}",
                {ZONE_NAME: zone} if zone else {},
            )
            if found is not None:
                return found
        return self._object(answer)

    def update_policy(self, policy: Json, /) -> Json:
        """Replaces the policy with that id."""
        return self._object(self._do(requests.update_policy(policy)))

    def delete_policy(self, id: int | str, /) -> None:
        """Deletes a policy; a missing one counts as deleted."""
        self._delete(requests.delete_policy(id))

    def create_role(self, role: Json, /) -> Json:
        """Creates a role, and its users that Ranger does not know."""
        answer = self._do(requests.create_role(role))
        if answer.status_code in _REFUSED:
            found = self._named(f"/roles/name/{quote(role['name'], safe='')}")
            if found is not None:
                return found
        return self._object(answer)

    def update_role(self, role: Json, /) -> Json:
        """Replaces the role with that id."""
        return self._object(self._do(requests.update_role(role)))

    def delete_role(self, id: int | str, /) -> None:
        """Deletes a role; a missing one counts as deleted."""
        self._delete(requests.delete_role(id))

    # --- tags of resources ---

    def service_tags(self) -> Json:
        """The tags on resources of the service, as its plugins get them."""
        return self._object(self._send("GET", f"{API}/service/{quote(self.service, safe='')}/tags"))

    def tag_resources(self) -> list[Json]:
        """The resources of the service that have tags, or once did."""
        path = f"/resources/service/{quote(self.service, safe='')}"
        return self._list(self._send("GET", TAGS + path))

    def tag_types(self) -> list[Json]:
        """All existing tags."""
        return self._list(self._send("GET", TAGS + "/tagdefs/"))

    def put_tag_type(self, definition: Json, /) -> None:
        """Creates a tag; an existing tag of that name stays as it is."""
        self._object(self._do(requests.put_tag_type(definition)))

    def put_tag(self, tag: Json, /) -> None:
        """Creates or replaces the tag with that guid."""
        self._object(self._do(requests.put_tag(tag)))

    def create_tag_resource(self, resource: Json, /) -> None:
        """Creates the resource with that guid; an existing one stays as it is.

        Raises `Conflict` if there is one of the same levels with another guid.
        """
        answer = self._do(requests.create_tag_resource(resource))
        if answer.status_code in _REFUSED:
            path = f"/resource/guid/{quote(resource['guid'], safe='')}"
            if self._send("GET", TAGS + path).is_success:
                return
        self._object(answer)

    def tag_resource(self, tag: str, resource: str, /) -> None:
        """Puts a tag on a resource, by their guids; it may already be there."""
        self._object(self._do(requests.tag_resource(tag, resource)))

    def untag_resource(self, tag: str, resource: str, /) -> None:
        """Removes a tag from a resource, by their guids; it may be gone."""
        self._delete(requests.untag_resource(tag, resource), gone=_REFUSED)

    def delete_unused(self, kind: str, guid: str, /) -> None:
        """Deletes a `resource`, a `tag` or a `tagdef`, unless something refers to it."""
        self._delete(requests.delete_unused(kind, guid), gone=_REFUSED)

    def _delete(self, request: Request, *, gone: Collection[int] = ()) -> None:
        """Deletes an object; `gone` are statuses that mean that it is gone, or is in use."""
        answer = self._do(request)
        if answer.status_code not in {HTTPStatus.NOT_FOUND, *gone}:
            self._check(answer)

    # --- requests ---

    def _named(self, path: str, query: Mapping[str, str] | None = None) -> Json | None:
        answer = self._send("GET", API + path, params=query)
        return self._object(answer) if answer.is_success else None

    def _paged(self, path: str, query: Mapping[str, str]) -> Iterator[Json]:
        """All rows of a search. A page may be shorter than requested; the last one is empty."""
        start = 0
        for _ in range(_MOST_PAGES):
            window = {"startIndex": str(start), "pageSize": str(PAGE)}
            rows = self._list(self._send("GET", API + path, params={**query, **window}))
            yield from rows
            start += len(rows)
            if not rows:
                return
        raise Unavailable("Ranger's list of policies or roles has no end")

    def _list(self, answer: httpx.Response) -> list[Json]:
        rows = self._body(answer)
        if isinstance(rows, dict):  # some versions wrap the results
            rows = next((rows[key] for key in _WRAPPED if key in rows), None)
        if not isinstance(rows, list) or not all(isinstance(one, dict) for one in rows):
            raise Unavailable("expected a list from Ranger; is this the address of its admin?")
        return rows

    def _object(self, answer: httpx.Response) -> Json:
        body = self._body(answer)
        if not isinstance(body, dict):
            raise Unavailable("expected an object from Ranger; is this the address of its admin?")
        return body

    def _body(self, answer: httpx.Response) -> Any:
        self._check(answer)
        try:
            return msgspec.json.decode(answer.content)
        except msgspec.DecodeError:
            message = "expected JSON from Ranger; is this the address of its admin?"
            raise Unavailable(message) from None

    def _check(self, answer: httpx.Response) -> None:
        if answer.is_success:
            return
        status, said = answer.status_code, _message(answer)
        if status == HTTPStatus.NOT_FOUND:
            raise Conflict(f"Ranger no longer has it ({said}); plan again")
        if status in _REFUSED:
            raise Conflict(f"Ranger refused it: {said}")
        raise Unavailable(f"Ranger responded with {status}: {said}")

    def _do(self, request: Request) -> httpx.Response:
        return self._send(
            request.method, request.path, json=request.body, params=request.query or None
        )

    def _send(
        self,
        method: str,
        path: str,
        *,
        json: Json | None = None,
        params: Mapping[str, str] | None = None,
        allowed: tuple[int, ...] = (),
    ) -> httpx.Response:
        """One response, after a bounded number of tries."""
        pause, problem = _FIRST_PAUSE_SECONDS, ""
        for number in range(TRIES):
            if number:
                self._sleep(pause)
                pause *= 2
            self._keep_rate()
            self._before()
            try:
                answer = self._answer(method, path, json=json, params=params)
            except httpx.TimeoutException:
                problem = f"no response within {TIMEOUT_SECONDS:.0f} seconds"
            except (httpx.HTTPError, httpx.InvalidURL) as error:
                problem = str(error).splitlines()[0] if str(error) else "the connection was lost"
            else:
                if answer.status_code not in _AGAIN:
                    if answer.status_code not in allowed:
                        self._require_rights(answer)
                    return answer
                problem = f"it responded with {answer.status_code}"
        raise Unavailable(f"Ranger cannot be reached: {problem}")

    def _answer(
        self, method: str, path: str, *, json: Json | None, params: Mapping[str, str] | None
    ) -> httpx.Response:
        """A whole response. Raises `httpx.HTTPError` if there is none, or not in time."""
        end, read = time.monotonic() + ANSWER_SECONDS, bytearray()
        with self._client.stream(method, path, json=json, params=params) as answer:
            for chunk in answer.iter_bytes():
                read += chunk
                if time.monotonic() > end:
                    raise httpx.ReadError(f"the response took over {ANSWER_SECONDS:.0f} seconds")
        return httpx.Response(answer.status_code, content=bytes(read))

    def _keep_rate(self) -> None:
        now = self._clock()
        if now < self._next:
            self._sleep(self._next - now)
        self._next = max(now, self._next) + self._seconds_between
        self.requests += 1

    def _require_rights(self, answer: httpx.Response) -> None:
        if answer.status_code == HTTPStatus.UNAUTHORIZED:
            message = f"Ranger does not know the user `{self._user}` with that password"
            raise BadInput(f"{message}; add the target again with another address", where="url")
        if answer.status_code == HTTPStatus.FORBIDDEN:
            message = f"the user `{self._user}` may not do that in Ranger"
            what = f"make it an administrator of the service `{self.service}`, or of Ranger"
            raise BadInput(f"{message} ({_message(answer)}); {what}", where="url")


def _message(answer: httpx.Response) -> str:
    """Ranger's message about a refusal, in printable characters."""
    try:
        body = msgspec.json.decode(answer.content)
    except msgspec.DecodeError:
        body = None
    said = str(body.get("msgDesc") or "") if isinstance(body, dict) else ""
    text = "".join(sign if sign.isprintable() else " " for sign in said).strip()
    return text[:_MESSAGE_CHARACTERS] or f"status {answer.status_code}"
