"""Executes the requests of a push to Ranger, or records them."""

from __future__ import annotations

from typing import Any, Protocol

from lakewarden.kernel.errors import Conflict
from lakewarden.pushdown.ranger import requests
from lakewarden.pushdown.ranger.marks import Marks
from lakewarden.pushdown.ranger.order import ROLE_ACTS, TAG_ACTS, RangerAct, RangerStep
from lakewarden.pushdown.ranger.requests import Request
from lakewarden.pushdown.ranger.state import (
    Held,
    Json,
    is_about_tags,
    policy_content,
    policy_sent,
    role_content,
    role_sent,
)
from lakewarden.pushdown.ranger.tags import TagChanges, TagWriter


class Changes(TagChanges, Protocol):
    """The changes of a Ranger service; `Admin` executes them."""

    def create_policy(self, policy: Json, /) -> Json: ...

    def update_policy(self, policy: Json, /) -> Json: ...

    def delete_policy(self, id: Any, /) -> None: ...

    def create_role(self, role: Json, /) -> Json: ...

    def update_role(self, role: Json, /) -> Json: ...

    def delete_role(self, id: Any, /) -> None: ...


class Writer:
    """Executes the steps of one push; our objects have `text` as description.

    `guids` are those of our policies by name, including the policies that it creates.
    """

    def __init__(self, changes: Changes, marks: Marks, held: Held, tags: str, text: str) -> None:
        self._changes, self._text, self._tag_service = changes, text, tags
        self._ids: dict[str, Any] = {
            **{f"policy {name}": id for name, id in held.policy_ids.items()},
            **{f"role {name}": id for name, id in held.role_ids.items()},
        }
        self._tagged, self.guids = held.tagged, {**held.guids}
        self._tags = TagWriter(changes, marks, held.tags)

    def execute(self, step: RangerStep) -> None:
        """Executes one step. Raises `Conflict` if Ranger did not store it as it was sent."""
        if step.act in TAG_ACTS:
            self._execute_tag_step(step)
        elif step.act is RangerAct.DELETE_FOREIGN:
            self._changes.delete_policy(step.name)
        elif step.content is None:
            is_role = step.act in ROLE_ACTS
            delete = self._changes.delete_role if is_role else self._changes.delete_policy
            delete(self._ids[step.key])
        elif step.act in ROLE_ACTS:
            answer = self._put_role(step, step.content)
            self._check(step, answer, is_done=role_content(answer) == step.content)
        else:
            answer = self._put_policy(step, step.content)
            self._check(step, answer, is_done=policy_content(answer) == step.content)

    def _execute_tag_step(self, step: RangerStep) -> None:
        match step.act:
            case RangerAct.TAG_RESOURCE if step.content is not None:
                self._tags.put(step.content)
            case RangerAct.UNTAG_RESOURCE:
                self._tags.untag(self._tagged[step.name])
            case RangerAct.DELETE_RESOURCE:
                self._tags.delete_resource(step.name)
            case RangerAct.DELETE_TAG:
                self._tags.delete_tag(step.name)

    def _put_role(self, step: RangerStep, content: Json) -> Json:
        role = role_sent(step.name, content, self._text)
        if step.act is RangerAct.CREATE_ROLE:
            return self._changes.create_role(role)
        return self._changes.update_role({**role, "id": self._ids[step.key]})

    def _put_policy(self, step: RangerStep, content: Json) -> Json:
        service = self._tag_service if is_about_tags(content) else self._changes.service
        policy = policy_sent(service, content, self._text)
        if step.act is RangerAct.CREATE_POLICY:
            answer = self._changes.create_policy(policy)
        else:
            known = {"id": self._ids[step.key], "guid": self.guids[step.name]}
            answer = self._changes.update_policy({**policy, **known})
        self.guids[step.name] = answer.get("guid") or ""
        return answer

    def _check(self, step: RangerStep, answer: Json, *, is_done: bool) -> None:
        if not is_done:
            what = "stored something else, or others have one of that name"
            raise Conflict(f"Ranger {what}: {step.key}; check it in Ranger, and plan again")
        self._ids[step.key] = answer["id"]


class RequestRecorder:
    """Records the requests, and responds as if they had been executed."""

    def __init__(self, service: str) -> None:
        self.service = service
        self.requests: list[Request] = []

    def create_policy(self, policy: Json, /) -> Json:
        """Responds as if Ranger had created it."""
        return self._record(requests.create_policy(policy), policy, f"policy {policy['name']}")

    def update_policy(self, policy: Json, /) -> Json:
        """Responds as if Ranger had replaced it."""
        self.requests.append(requests.update_policy(policy))
        return policy

    def delete_policy(self, id: Any, /) -> None:
        """Responds as if it was gone."""
        self.requests.append(requests.delete_policy(id))

    def create_role(self, role: Json, /) -> Json:
        """Responds as if Ranger had created it."""
        return self._record(requests.create_role(role), role, f"role {role['name']}")

    def update_role(self, role: Json, /) -> Json:
        """Responds as if Ranger had replaced it."""
        self.requests.append(requests.update_role(role))
        return role

    def delete_role(self, id: Any, /) -> None:
        """Responds as if it was gone."""
        self.requests.append(requests.delete_role(id))

    def put_tag_type(self, definition: Json, /) -> None:
        """Responds as if the tag existed."""
        self.requests.append(requests.put_tag_type(definition))

    def put_tag(self, tag: Json, /) -> None:
        """Responds as if the object existed."""
        self.requests.append(requests.put_tag(tag))

    def create_tag_resource(self, resource: Json, /) -> None:
        """Responds as if the resource existed."""
        self.requests.append(requests.create_tag_resource(resource))

    def tag_resource(self, tag: str, resource: str, /) -> None:
        """Responds as if the tag was on it."""
        self.requests.append(requests.tag_resource(tag, resource))

    def untag_resource(self, tag: str, resource: str, /) -> None:
        """Responds as if the tag was not on it any more."""
        self.requests.append(requests.untag_resource(tag, resource))

    def delete_unused(self, kind: str, guid: str, /) -> None:
        """Responds as if it was gone."""
        self.requests.append(requests.delete_unused(kind, guid))

    def _record(self, request: Request, what: Json, name: str) -> Json:
        self.requests.append(request)
        return {**what, "id": f"{{id of {name}}}", "guid": f"{{guid of {name}}}"}
