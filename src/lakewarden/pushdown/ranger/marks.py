"""The marks that distinguish our objects in a Ranger from those of others, and of other stores.

Names of policies and roles, and guids of tags, are short; they have a tag of the store behind the
target. Labels of policies, and the descriptions of a style's roles, have the id of the store.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Final

import msgspec

from lakewarden.pushdown.store_tag import tag_of
from lakewarden.service.push_target import PushTarget

LABEL: Final = "lakewarden"
_POLICY_DIGITS: Final = 16
_ROLE_DIGITS: Final = 32


@dataclass(frozen=True, slots=True)
class Marks:
    """The names and marks of a target of a store; without a store, those from before they had one.

    `service` is the name of the Ranger service.

    Objects that the store knows are ours as well, unless another store has marked them: `kept`
    are names of policies and roles, and `guids` are those of tags, by the tag.

    >>> Marks("rg").is_policy("lakewarden rg 0123456789abcdef"), Marks("rg").label
    (True, 'lakewarden:rg')
    >>> Marks("rg", "1f0c").is_policy("lakewarden rg 0123456789abcdef"), Marks("rg", "1f0c").label
    (False, 'lakewarden:rg:1f0c')
    """

    target: str
    store: str = ""
    service: str = ""
    kept: frozenset[str] = frozenset()
    guids: Mapping[str, str] = field(default_factory=dict)

    @property
    def label(self) -> str:
        """The label of our policies, which is also in the descriptions of our roles."""
        return f"{self.old_label}:{self.store}".rstrip(":")

    @property
    def old_label(self) -> str:
        """The label from before it had the store id."""
        return f"{LABEL}:{self.target}"

    def policy(self, signature: bytes) -> str:
        """The name of our policy on these resources."""
        digest = sha256(signature).hexdigest()[:_POLICY_DIGITS]
        return self._name(f"{LABEL} {self.target} ", digest, digest)

    def role(self, digest: str) -> str:
        """The name of our role with these members."""
        tag = tag_of(self.store)
        return self._name(f"lw_{self.target}_", digest, digest[: _ROLE_DIGITS - len(tag)])

    def _name(self, prefix: str, old: str, new: str) -> str:
        name = prefix + old
        return name if name in self.kept else prefix + tag_of(self.store) + new

    def is_policy(self, name: str) -> bool:
        """Whether a policy of that name is ours."""
        form = f"{LABEL} {self.target} {tag_of(self.store)}[0-9a-f]{{{_POLICY_DIGITS}}}"
        return name in self.kept or re.fullmatch(form, name) is not None

    def is_role(self, name: str) -> bool:
        """Whether a role of that name is ours.

        >>> Marks("rg").is_role("lw_rg_readers")
        False
        """
        tag = tag_of(self.store)
        form = f"lw_{self.target}_{tag}[0-9a-f]{{{_ROLE_DIGITS - len(tag)}}}"
        return name in self.kept or re.fullmatch(form, name) is not None

    def has(self, words: Collection[str], name: str) -> bool:
        """Whether an object has our mark; one with a mark without a store must be known."""
        return self.label in words or (self.old_label in words and name in self.kept)

    def is_of_another(self, words: Iterable[str]) -> bool:
        """Whether an object has the mark of another store."""
        marks = [one for one in words if one.startswith(f"{self.old_label}:")]
        return bool(marks) and self.label not in marks

    # --- tags ---

    def tag_guid(self, tag: str) -> str:
        """The guid of our object for a tag."""
        return self.guids.get(tag) or self._guid([self.service, "tag", tag])

    def resource_guid(self, key: str) -> str:
        """The guid of a resource that we create."""
        return self._guid([self.service, "resource", key])

    def is_resource(self, guid: str) -> bool:
        """Whether we created a resource."""
        return re.fullmatch(f"{self._guids}[0-9a-f]{{{_POLICY_DIGITS}}}", guid) is not None

    def _guid(self, of: list[str]) -> str:
        return self._guids + digest_of(of)

    @property
    def _guids(self) -> str:
        return f"{LABEL}-{self.target}-{tag_of(self.store)}"


def marks_of(target: PushTarget, store: str, service: str) -> Marks:
    """The marks of a target, including the objects that its store knows to be its own."""
    pushed, journal = target.pushed, target.journal
    old = Marks(target.name, service=service)
    begun = (key.partition(" ") for key in journal.get("states", {}))
    names = frozenset(name for kind, _, name in begun if kind in ("policy", "role"))
    # A push that did not record the guids of tags is from before they had the store's tag.
    before = {tag: old.tag_guid(tag) for tag in old_tags(target)}
    return Marks(
        target.name,
        store,
        service,
        names.union(pushed.get("policies", ()), pushed.get("roles", ())),
        {**before, **journal.get("tag_guids", {}), **pushed.get("tag_guids", {})},
    )


def old_tags(target: PushTarget) -> frozenset[str]:
    """The names of our tags that pushes created, or may have created by the journal."""
    states = target.journal.get("states", {})
    begun = (key.split(" ")[1] for key in states if key.startswith(("tag ", "tagged ")))
    return frozenset({*(one["tag"] for one in target.pushed.get("tagged", {}).values()), *begun})


def digest_of(content: object) -> str:
    """A digest that is equal for equal content."""
    return sha256(msgspec.json.encode(content, order="sorted")).hexdigest()[:_POLICY_DIGITS]
