"""A stand-in for Ranger's admin: its public REST API and the plugins' downloads, over HTTP.

It follows Ranger's sources: own ids, guids and versions; names and resources that are unique in a
service; users of roles and policies who must exist; roles in use that cannot be deleted; pages;
Basic authentication; 400 and 404. Source: apache/ranger, `PublicAPIsv2.java`,
`ServiceDBStore.java`, `RangerPolicyValidator.java` at 8e7716cd3c36. Tags are
in `tag_store.py`.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from socket import SHUT_RDWR
from threading import Lock, Thread
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

from tests.pushdown.ranger.tag_store import TagStore

Json = dict[str, Any]
API = "/service/public/v2/api"
TAGS = "/service/tags"
USER, PASSWORD = "ops", "p@ss:w/rd"
ROWS = 200
"""The maximum number of rows in a response, regardless of the request."""


class Refusal(Exception):
    """A response that is not a success."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status


@dataclass
class Ranger:
    """The contents of the admin.

    `zones` are security zones, each with its resources of the service; without `sees_zones` the
    account may not see them. `lose` says for each change whether the connection is lost, and when:
    "before" the change, "after" it, or "" for never. A nonzero `status` is the response to every
    request. The service is linked with the `tag_service`, "" for none, whose type is defined by it.
    """

    type: str
    definition: Json
    service: str = "svc"
    policies: dict[int, Json] = field(default_factory=dict)
    roles: dict[int, Json] = field(default_factory=dict)
    plugins: list[Json] = field(default_factory=list)
    users: set[str] = field(default_factory=set)
    zones: dict[str, list[Json]] = field(default_factory=dict)
    sees_zones: bool = True
    status: int = 0
    version: int = 1
    requests: list[str] = field(default_factory=list)
    sent: list[tuple[str, Any]] = field(default_factory=list)
    numbers: dict[str, int] = field(default_factory=dict)
    lose: Callable[[int], str] = lambda _: ""
    port: int = 0
    changes: int = 0
    lock: Any = field(default_factory=Lock)
    tag_service: str = ""
    tag_definition: Json = field(default_factory=dict)
    tags: TagStore = field(default_factory=TagStore)
    _last: int = 0

    @property
    def address(self) -> str:
        return (
            f"ranger+http://{USER}:p%40ss%3Aw%2Frd@127.0.0.1:{self.port}/{self.service}?rate=10000"
        )

    def download(self) -> Json:
        """The policies in the form that plugins download."""
        by_zone: dict[str, list[Json]] = {}
        for one in self.policies.values():
            if one["isEnabled"] and one["service"] == self.service:
                by_zone.setdefault(_zone(one), []).append(one)
        zones = {
            name: {
                "zoneName": name,
                "resources": resources,
                "policies": by_zone.get(name, []),
                "containsAssociatedTagService": False,
            }
            for name, resources in self.zones.items()
        }
        return {
            "serviceName": self.service,
            "serviceId": 1,
            "policyVersion": self.version,
            "policies": by_zone.get("", []),
            "serviceDef": self.definition,
            "auditMode": "audit-default",
            **({"securityZones": zones} if zones else {}),
            **({"tagPolicies": self._tag_policies()} if self.tag_service else {}),
        }

    def _tag_policies(self) -> Json:
        """The policies of the tag service, which plugins download together with the service's."""
        of = [one for one in self.policies.values() if one["service"] == self.tag_service]
        return {
            "serviceName": self.tag_service,
            "serviceId": 2,
            "policyVersion": self.version,
            "policies": [one for one in of if one["isEnabled"]],
            "serviceDef": self.tag_definition,
            "auditMode": "audit-default",
        }

    def download_roles(self) -> Json:
        return {
            "serviceName": self.service,
            "roleVersion": self.version,
            "rangerRoles": [
                {key: one[key] for key in ("id", "name", "users", "groups", "roles")}
                for one in self.roles.values()
            ],
        }

    # --- policies ---

    def put_policy(self, policy: Json, id: int | None = None) -> Json:
        """Creates or updates a policy, like a client does."""
        if id is not None and id not in self.policies:
            raise Refusal(404, f"no policy found with ID {id}")
        zone = _zone(policy)
        if zone and zone not in self.zones:
            raise Refusal(400, f"zone name does not exist: {zone}")
        if id is not None and _zone(self.policies[id]) != zone:
            raise Refusal(400, "zone name of a policy cannot be changed")
        signature = _signature(policy)
        for one in self.policies.values():
            if one["id"] == id or one["service"] != policy["service"]:
                continue
            if one["name"] == policy["name"] and _zone(one) == zone:
                raise Refusal(400, f"another policy already exists for this name: {one['name']}")
            if one["resourceSignature"] == signature:
                message = "another policy already exists for matching resource"
                raise Refusal(400, f"{message}: policy-name=[{one['name']}]")
        items = [item for key in _ITEMS for item in policy.get(key) or ()]
        if not items:
            raise Refusal(400, "at least one policy item must be specified")
        names = {str(one["name"]) for one in self.roles.values()}
        for item in items:
            for role in item.get("roles") or ():
                if role not in names:
                    raise Refusal(400, f"role does not exist: {role}")
        is_about_tags = policy["service"] == self.tag_service
        definition = self.tag_definition if is_about_tags else self.definition
        known = {one["name"] for one in definition["resources"]}
        if not {*policy["resources"]} <= known:
            raise Refusal(400, "invalid resources specified")
        self.version += 1
        old = self.policies.get(id or 0, {})
        number = id or self._number()
        stored = {
            **_DEFAULTS,
            **{key: [] for key in _ITEMS},
            **policy,
            "id": number,
            "guid": old.get("guid") or f"guid-{number}",
            "version": old.get("version", 0) + 1,
            "createdBy": "ops",
            "updatedBy": "ops",
            "createTime": 1,
            "updateTime": self.version,
            "resourceSignature": signature,
            "serviceType": self.type,
        }
        self.policies[number] = stored
        self.numbers[f"policy {policy['name']}"] = number
        return stored

    def delete_policy(self, id: int) -> None:
        if self.policies.pop(id, None) is None:
            raise Refusal(404, f"no policy found with ID {id}")
        self.version += 1

    # --- roles ---

    def put_role(self, role: Json, id: int | None = None, *, creates_users: bool = True) -> Json:
        if id is not None and id not in self.roles:
            raise Refusal(404, "role not found")
        names = {one["name"]: one["id"] for one in self.roles.values()}
        if names.get(role["name"], id) != id:
            raise Refusal(400, f"role with name: {role['name']} already exists")
        for inner in role.get("roles") or ():
            if inner["name"] not in names:
                raise Refusal(400, f"role with name: {inner['name']} does not exist")
        mentioned = {one["name"] for one in role.get("users") or ()}
        if mentioned - self.users and not creates_users:
            raise Refusal(400, f"user with name: {min(mentioned - self.users)} does not exist")
        self.users |= mentioned
        self.version += 1
        stored = {"groups": [], "users": [], "roles": [], "options": {}, **role}
        stored |= {"id": id or self._number(), "isEnabled": True, "createdByUser": "ops"}
        self.roles[stored["id"]] = stored
        return stored

    def delete_role(self, id: int) -> None:
        role = self.roles.get(id)
        if role is None:
            raise Refusal(404, "role not found")
        name = role["name"]
        for policy in self.policies.values():
            if any(name in item.get("roles", ()) for key in _ITEMS for item in policy[key]):
                raise Refusal(
                    400, f"role '{name}' can't be deleted as it is referenced in policies"
                )
        for other in self.roles.values():
            if any(one["name"] == name for one in other["roles"]):
                raise Refusal(400, f"role '{name}' can't be deleted as it is referenced in roles")
        del self.roles[id]
        self.version += 1

    def _number(self) -> int:
        self._last += 1
        return self._last

    # --- requests ---

    def answer(self, method: str, path: list[str], query: dict[str, str], body: Any) -> Any:
        """The value of the response; None for no content."""
        match method, path:
            case _, ["service" | "servicedef" | "zones" | "plugins", *_]:
                return self._answer_service(path, query)
            case "GET", ["roles"]:
                return _page([self.roles[id] for id in sorted(self.roles)], query)
            case "GET", ["roles", "name", own]:
                return _one(self.roles.values(), own)
            case "POST", ["policy"]:
                self._known(body["service"])
                return self.put_policy(body)
            case "PUT", ["policy", id]:
                if body.get("guid") != self.policies.get(int(id), body).get("guid"):
                    raise Refusal(400, "guid of the policy cannot be changed")
                return self.put_policy(body, int(id))
            case "DELETE", ["policy", id]:
                return self.delete_policy(int(id))
            case "POST", ["roles"]:
                creates = query.get("createNonExistUserGroup") == "true"
                return self.put_role(body, creates_users=creates)
            case "PUT", ["roles", id]:
                return self.put_role(body, int(id))
            case "DELETE", ["roles", id]:
                return self.delete_role(int(id))
        raise Refusal(404, "not found")

    def _answer_service(self, path: list[str], query: dict[str, str]) -> Any:
        """A part of a service."""
        match path:
            case ["service", "name", name]:
                self._known(name)
                type = "tag" if name == self.tag_service else self.type
                linked = {} if type == "tag" else {"tagService": self.tag_service}
                return {"id": 1, "name": name, "type": type, "isEnabled": True, **linked}
            case ["servicedef", "name", name] if name == self.type:
                return self.definition
            case ["servicedef", "name", "tag"]:
                return self.tag_definition
            case ["service", name, "tags"]:
                self._known(name)
                return self.tags.document(self.service)
            case ["service", name, "policy"]:
                self._known(name)
                found = self._in_zone(query)
                own = [found[id] for id in sorted(found) if found[id]["service"] == name]
                return _page(own, query)
            case ["service", name, "policy", own]:
                self._known(name)
                found = self._in_zone(query)
                return _one((one for one in found.values() if one["service"] == name), own)
            case ["zones"]:
                if not self.sees_zones:
                    raise Refusal(400, "user is not authorized to access zone")
                return _page([self._zone_row(one) for one in sorted(self.zones)], query)
            case ["plugins", "info"]:
                return self.plugins
        raise Refusal(404, "not found")

    def answer_tags(self, method: str, path: list[str], query: dict[str, str], body: Any) -> Any:
        """The response of the tags API."""
        try:
            value = self.tags.answer(method, path, query, body)
        except ValueError as error:
            raise Refusal(400, str(error)) from None
        except LookupError:
            raise Refusal(404, "not found") from None
        self.version += method != "GET"
        return value

    def _in_zone(self, query: dict[str, str]) -> dict[int, Json]:
        """The policies of the requested zone, or those outside all zones."""
        zone = query.get("zoneName", "")
        return {id: one for id, one in self.policies.items() if _zone(one) == zone}

    def _zone_row(self, name: str) -> Json:
        services = {self.service: {"resources": self.zones[name], "resourcesBaseInfo": []}}
        return {"id": 2, "name": name, "services": services, "tagServices": [], "adminUsers": []}

    def _known(self, service: str) -> None:
        if service not in (self.service, self.tag_service):
            raise Refusal(404, f"no service found with name: {service}")


_ITEMS = (
    "policyItems", "denyPolicyItems", "allowExceptions", "denyExceptions", "dataMaskPolicyItems",
    "rowFilterPolicyItems",
)  # fmt: skip
_DEFAULTS: Json = {
    "policyType": 0, "policyPriority": 0, "isEnabled": True, "isAuditEnabled": True,
    "isDenyAllElse": False, "options": {}, "conditions": [], "validitySchedules": [],
    "policyLabels": [], "description": "", "additionalResources": [],
}  # fmt: skip


def _zone(policy: Json) -> str:
    return str(policy.get("zoneName") or "")


def _signature(policy: Json) -> str:
    resources = {
        level: [sorted(one["values"]), one.get("isExcludes"), one.get("isRecursive")]
        for level, one in policy["resources"].items()
    }
    schedules = policy.get("validitySchedules") or []
    priority = policy.get("policyPriority") or 0
    parts = [policy.get("policyType") or 0, resources, schedules, _zone(policy), priority]
    return json.dumps(parts, sort_keys=True)


def _page(rows: list[Json], query: dict[str, str]) -> list[Json]:
    start, size = int(query.get("startIndex", 0)), int(query.get("pageSize", ROWS))
    return rows[start : start + min(size, ROWS)]


def _one(rows: Any, name: str) -> Json:
    for one in rows:
        if one["name"] == name:
            return dict(one)
    raise Refusal(404, "not found")


class _Lost(Exception):
    """The connection ends without a response."""


def _handler(ranger: Ranger) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        wbufsize = 1 << 16  # one packet per response

        def log_message(self, *_: object) -> None:
            pass

        def _do(self) -> None:
            parts = urlsplit(self.path)
            query = {key: values[0] for key, values in parse_qs(parts.query).items()}
            length = int(self.headers.get("content-length") or 0)
            text = self.rfile.read(length)
            try:
                with ranger.lock:
                    status, value = self._answer(parts.path, query, text)
            except _Lost:
                self.close_connection = True
                self.connection.shutdown(SHUT_RDWR)
                return
            content = b"" if value is None else json.dumps(value).encode()
            self.send_response(status)
            self.send_header("content-type", "application/json")
            self.send_header("content-length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        def _answer(self, path: str, query: dict[str, str], text: bytes) -> tuple[int, Any]:
            ranger.requests.append(f"{self.command} {path}")
            try:
                if ranger.status:
                    raise Refusal(ranger.status, "as the test has it")
                expected = base64.b64encode(f"{USER}:{PASSWORD}".encode()).decode()
                if path.startswith("/service/plugins/policies/download/"):
                    return self._newer(query, ranger.download())
                if path.startswith("/service/tags/download/"):
                    return self._newer(query, ranger.tags.document(ranger.service))
                if path.startswith("/service/roles/download/"):
                    return self._newer(query, ranger.download_roles(), "lastKnownRoleVersion")
                if self.headers.get("authorization") != f"Basic {expected}":
                    raise Refusal(401, "authentication required")
                root = next((one for one in (API, TAGS) if path.startswith(f"{one}/")), None)
                if root is None:
                    raise Refusal(404, "not found")
                names = [unquote(one) for one in path[len(root) :].strip("/").split("/")]
                body = json.loads(text) if text else None
                lost = ""
                if self.command != "GET":
                    ranger.changes += 1
                    ranger.sent.append((f"{self.command} {self.path}", body))
                    lost = ranger.lose(ranger.changes)
                if lost == "before":
                    raise _Lost
                if root == TAGS:
                    value = ranger.answer_tags(self.command, names, query, body)
                else:
                    value = ranger.answer(self.command, names, query, body)
                if lost == "after":
                    raise _Lost
            except Refusal as refusal:
                body = {"statusCode": 1, "msgDesc": str(refusal), "messageList": []}
                return refusal.status, body
            return (204 if value is None else 200), value

        def _newer(
            self, query: dict[str, str], value: Json, known: str = "lastKnownVersion"
        ) -> tuple[int, Any]:
            if query.get(known) == str(ranger.version):
                return 304, None
            return 200, value

        do_GET = do_POST = do_PUT = do_DELETE = _do  # noqa: N815 — the library's names

    return Handler


@contextmanager
def serving(ranger: Ranger) -> Iterator[Ranger]:
    """The admin, on its own port."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(ranger))
    server.daemon_threads = True
    ranger.port = server.server_address[1]
    thread = Thread(target=server.serve_forever, args=(0.02,), daemon=True)
    thread.start()
    try:
        yield ranger
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
