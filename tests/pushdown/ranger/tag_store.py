"""The tags of the stand-in for Ranger's admin: the contents of `/service/tags`, by resource.

It follows Ranger's sources: guids are given by the client, a tag needs a definition of its name,
and referenced objects cannot be deleted. Source: apache/ranger, `TagREST.java`,
`TagValidator.java`, `ServiceTagsProcessor.java` at 8e7716cd3c36.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any

Json = dict[str, Any]


@dataclass
class TagStore:
    """Definitions of tags by name, tags and resources by guid, and the tags of each resource."""

    definitions: dict[str, Json] = field(default_factory=dict)
    tags: dict[str, Json] = field(default_factory=dict)
    resources: dict[str, Json] = field(default_factory=dict)
    lying: set[tuple[str, str]] = field(default_factory=set)
    _last: int = 0

    def document(self, service: str) -> Json:
        """The tags of a service in the form that plugins download."""
        of = {guid: one for guid, one in self.resources.items() if one["serviceName"] == service}
        lying = sorted((tag, one) for tag, one in self.lying if one in of)
        tags = {tag: self.tags[tag] for tag, _ in lying}
        names = {one["type"] for one in tags.values()}
        by_resource: dict[str, list[int]] = {}
        for tag, one in lying:
            by_resource.setdefault(str(of[one]["id"]), []).append(tags[tag]["id"])
        return {
            "op": "replace",
            "serviceName": service,
            "tagVersion": self._last,
            "tagDefinitions": {str(self.definitions[one]["id"]): self.definitions[one]
                               for one in names},
            "tags": {str(one["id"]): one for one in tags.values()},
            "serviceResources": [of[one] for one in sorted({one for _, one in lying})],
            "resourceToTagIds": by_resource,
        }  # fmt: skip

    def put(self, tag: str, resource: Json, service: str = "svc") -> None:
        """Puts a tag on a resource, like a tagsync: all other tags on it are lost."""
        self.answer("POST", ["tagdefs"], {}, {"name": tag, "source": "Atlas"})
        made = self.answer("POST", ["tags"], {}, {"type": tag, "owner": 0})
        elements = {level: {"values": [one], "isExcludes": False, "isRecursive": False}
                    for level, one in resource.items()}  # fmt: skip
        body = {"serviceName": service, "resourceElements": elements}
        on = self.answer("POST", ["resources"], {"updateIfExists": "true"}, body)
        self.lying = {one for one in self.lying if one[1] != on["guid"]}
        self.lying.add((made["guid"], on["guid"]))

    def answer(self, method: str, path: list[str], query: dict[str, str], body: Any) -> Any:
        """The value of the response; `ValueError` for 400, `LookupError` for 404."""
        match method, path:
            case "GET", ["tagdefs"]:
                return [*self.definitions.values()]
            case "POST", ["tagdefs"]:
                found = self.definitions.get(body["name"])
                return found or self.definitions.setdefault(body["name"], self._made(body))
            case "POST", ["tags"]:
                return self._put_tag(body)
            case "GET", ["resources", "service", name]:
                return [one for one in self.resources.values() if one["serviceName"] == name]
            case "GET", ["resource", "guid", guid]:
                return self.resources[guid]
            case "POST", ["resources"]:
                return self._put_resource(body, updates=query.get("updateIfExists") != "false")
            case "POST", ["tagresourcemaps"]:
                return self._put_map(query)
            case "DELETE", ["tagresourcemaps"]:
                pair = query["tag-guid"], query["resource-guid"]
                if pair not in self.lying:
                    raise ValueError("attempt to delete nonexistent association")
                self.lying.remove(pair)
                return None
            case "DELETE", [kind, "guid", guid]:
                return self._delete(kind, guid)
        raise LookupError

    def _put_tag(self, tag: Json) -> Json:
        if tag["type"] not in self.definitions:
            raise ValueError(f"no TagDefinition found with name: {tag['type']}")
        old = self.tags.get(tag.get("guid", ""))
        if old is not None and old["type"] != tag["type"]:
            raise ValueError("attempt to change the tag-type")
        made = self._made(tag) if old is None else {**old, **tag}
        self.tags[made["guid"]] = made
        return made

    def _put_resource(self, resource: Json, *, updates: bool) -> Json:
        signature = json.dumps(resource["resourceElements"], sort_keys=True)
        for guid, one in self.resources.items():
            same = one["resourceSignature"] == signature
            same = same and one["serviceName"] == resource["serviceName"]
            if same or guid == resource.get("guid"):
                if not updates:
                    raise ValueError(f"resource with Id {one['id']} already exists")
                return one
        made = {**self._made(resource), "resourceSignature": signature}
        self.resources[made["guid"]] = made
        return made

    def _put_map(self, query: dict[str, str]) -> Json:
        tag, resource = query["tag-guid"], query["resource-guid"]
        if tag not in self.tags or resource not in self.resources:
            raise ValueError("no tag or no resource found")
        if (tag, resource) in self.lying and query.get("lenient") != "true":
            raise ValueError("tagResourceMap already exists")
        self.lying.add((tag, resource))
        return {"tagId": self.tags[tag]["id"], "resourceId": self.resources[resource]["id"]}

    def _delete(self, kind: str, guid: str) -> None:
        if kind == "tagdef":
            names = {one["guid"]: name for name, one in self.definitions.items()}
            is_used = names.get(guid) in {one["type"] for one in self.tags.values()}
            if guid not in names or is_used:
                raise ValueError("attempt to delete a tag-def that is used or not there")
            del self.definitions[names[guid]]
            return
        of = {"tag": self.tags, "resource": self.resources}[kind]
        if guid not in of or any(guid in pair for pair in self.lying):
            raise ValueError(f"attempt to delete a {kind} that is used or not there")
        del of[guid]

    def _made(self, body: Json) -> Json:
        self._last += 1
        return {"guid": f"tags-{self._last}", "isEnabled": True, **body, "id": self._last}
