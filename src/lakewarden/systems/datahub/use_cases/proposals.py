"""Proposed changes of DataHub's metadata: authorized, then written atomically.

The only way to write a plain aspect. A change requires the privilege to create or to change the
entity, and in addition the privileges that `lakewarden.systems.datahub.use_cases.aspect_guard`
checks for the aspect. The entity's type is that of its URN.

SOURCE: datahub reference 3.6, 5.1, 5.4, 6.9.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import chain, groupby, zip_longest
from typing import Final, NamedTuple

from lakewarden.kernel.entity import Entity
from lakewarden.kernel.errors import BadInput, LimitExceeded
from lakewarden.service.effect import TokenChanged
from lakewarden.service.realm import people_of
from lakewarden.service.write_transaction import WriteTransaction
from lakewarden.systems.datahub.aspects import domains, keys
from lakewarden.systems.datahub.aspects.change import Change
from lakewarden.systems.datahub.aspects.empty_records import initial_aspect
from lakewarden.systems.datahub.aspects.patch import Begin, PatchedAspect
from lakewarden.systems.datahub.aspects.record_names import check_name, is_known, is_timed
from lakewarden.systems.datahub.use_cases import (
    account_status,
    aspects,
    logical_parent,
    native_user,
    references,
)
from lakewarden.systems.datahub.use_cases.aspect_guard import (
    CREDENTIAL_PREFIX,
    ORIGINAL,
    Guard,
    Switches,
)
from lakewarden.systems.datahub.use_cases.aspect_version import check_version
from lakewarden.systems.datahub.use_cases.aspects import Aspect, Value, Write
from lakewarden.systems.datahub.use_cases.references import Reference

_DECIDING: Final = frozenset(("querySubjects",))
"""Aspects that determine who may create an entity."""


class Proposal(NamedTuple):
    """One proposed change. `value` is the aspect, or the patch; `where` its place in the body.

    Deleting the key aspect, or no named aspect, deletes the entity. If `expected` is a version, the
    aspect must have that version. With `absent`, the creation of an existing aspect is skipped
    instead of refused.
    """

    entity: Entity
    aspect: str
    change: Change
    value: object
    system: Mapping[str, object]
    where: str
    expected: str = ""
    absent: bool = False


def propose(
    transaction: WriteTransaction,
    realm: str,
    proposals: Iterable[Proposal],
    actor: Entity,
    switches: Switches,
) -> list[Entity]:
    """Writes all proposals, and returns the written entities.

    `actor` is the caller as an entity. All checks use the state before the batch; an entity that is
    put into domains is also checked there, and if it is new, only there. Raises `NotAllowed` for
    the first proposal that the caller may not make, `BadInput` for an invalid one,
    `VersionMismatch` if an aspect does not have the expected version. The write must then be
    abandoned, because parts of it are already applied.
    """
    by_entity: dict[Entity, list[Proposal]] = {}
    for proposal in proposals:
        _check_aspect(proposal, switches)
        by_entity.setdefault(proposal.entity, []).append(proposal)
    runs = [[list(run) for _, run in groupby(own, _removes)] for own in by_entity.values()]
    for together in zip_longest(*runs, fillvalue=()):
        _apply_runs(transaction, realm, [run for run in together if run], actor, switches)
    return list(by_entity)


def _check_aspect(proposal: Proposal, switches: Switches) -> None:
    """Rejects an aspect that nobody may store. A stored one may be deleted."""
    if proposal.expected and is_timed(proposal.aspect):
        raise BadInput("values in time have no versions", where=proposal.where)
    if proposal.change is Change.DELETE:
        return
    check_name(proposal.aspect, proposal.where)
    if not switches.unknown_aspects and not is_known(proposal.aspect):
        raise BadInput(
            f"unknown aspect `{proposal.aspect}` (setting `datahub.unknown_aspects`)",
            where=proposal.where,
        )


def _apply_runs(
    transaction: WriteTransaction,
    realm: str,
    runs: Iterable[Sequence[Proposal]],
    actor: Entity,
    switches: Switches,
) -> None:
    """Removes or writes many entities, each of which is in one of the runs.

    COST: every write makes a new state, so all checks come before all writes. Checks that do not
    need an applied patch come first.
    """
    guarded: list[_Guarded] = []
    for run in runs:
        group = _Guarded(transaction, realm, run[0].entity, switches, run, actor.name)
        if _removes(run[0]):
            group.remove()
        else:
            guarded.append(group)
    read = aspects.read(
        transaction.store, transaction.realm(realm), [group.entity for group in guarded]
    )
    for group in guarded:
        group.ask(read.get(group.entity))
    write = partial(aspects.write, transaction, realm, actor=actor.name, values=switches.values)
    write([seed for group in guarded for seed in group.seeds()])
    for group in guarded:
        group.ask_seeded()
    for group in guarded:
        group.propose()
    for group in guarded:
        group.check()
    for group in guarded:
        group.check_versions()
    logical_parent.check(
        transaction, realm, [each for group in guarded for each in group.parents()]
    )
    write([each for group in guarded for each in group.writes()])


def remove(transaction: WriteTransaction, realm: str, entity: Entity, switches: Switches) -> bool:
    """Removes an entity; returns False if it did not exist. Raises `NotAllowed`."""
    return _Guarded(transaction, realm, entity, switches).remove()


def referring(
    transaction: WriteTransaction,
    realm: str,
    entity: Entity,
    actor: Entity,
    switches: Switches,
    *,
    forget: bool,
) -> list[Reference]:
    """The references to an entity, for an `actor` who may delete it; `forget` also removes them.

    Raises `NotAllowed`.
    """
    Guard(transaction, realm, entity, switches).ask("entity.delete")
    if forget:
        return references.remove_references(transaction, realm, entity, actor)
    return references.references(transaction.realm(realm).matrix.snapshot, entity)


def _removes(proposal: Proposal) -> bool:
    """Whether a proposal deletes the whole entity."""
    if proposal.change is not Change.DELETE:
        return False
    key = keys.key_of(proposal.entity)
    return proposal.aspect in ("", None if key is None else key[0])


class _Guarded:
    """One entity of a batch, whose proposals are checked before and after they are applied."""

    def __init__(
        self,
        transaction: WriteTransaction,
        realm: str,
        entity: Entity,
        switches: Switches,
        proposals: Sequence[Proposal] = (),
        actor: str = "",
    ) -> None:
        self.entity = entity
        self._by_aspect: dict[str, list[Proposal]] = {}
        for proposal in proposals:
            self._by_aspect.setdefault(proposal.aspect, []).append(proposal)
        self._applied: set[str] = set()
        self._desk = transaction
        self._realm = realm
        self._switches = switches
        self._guard = Guard(transaction, realm, entity, switches)
        self._begin = partial(
            initial_aspect, stamp={"time": int(transaction.now * 1_000), "actor": actor}
        )
        self._exists = False
        self._before: Mapping[str, Aspect] = {}
        self._after: dict[str, Aspect] = {}
        self._writes: dict[str, Write] = {}
        self._in_time: list[Write] = []

    def remove(self) -> bool:
        """Removes the entity; returns False if it did not exist."""
        self._guard.ask("entity.delete")
        self._guard.check_credential()
        self._guard.check_mutable()
        self._revoke()
        if self.entity.type == account_status.TYPE:
            native_user.end_tokens(self._desk, self._realm, self.entity.name)
        return aspects.drop(self._desk, self._realm, self.entity)

    def _revoke(self) -> None:
        """Revokes a deleted token."""
        for token in self._desk.state.tokens.values():
            remaining = (
                token.realm == self._realm and f"{CREDENTIAL_PREFIX}{token.id}" == self.entity.name
            )
            if remaining:
                self._desk.change(people_of(token.directory), TokenChanged(token.id, None))

    def ask(self, before: Mapping[str, Aspect] | None) -> None:
        """Checks the operations of the proposals on the stored entity; None if it is not stored.

        Only the aspects that determine who may create the entity are computed.
        """
        self._exists = before is not None
        self._before = before or {}
        self._after = dict(self._before)
        self._guard.check_credential()
        if self._decides_by_stored_domains:
            if not self._exists:
                self._apply_aspects(_DECIDING)
            self._ask_all(self._operations, self._after)
        if self._is_seeded:
            self._apply_aspects({"domains"})

    def propose(self) -> None:
        """Applies the proposals to the aspects before them."""
        self._apply_aspects(self._by_aspect)

    def _apply_aspects(self, names: Container[str]) -> None:
        for aspect, own in self._by_aspect.items():
            if aspect in names and aspect not in self._applied:
                self._applied.add(aspect)
                try:
                    self._apply_to_aspect(aspect, own)
                except BadInput:
                    # Callers without the privilege to write learn nothing about stored entities.
                    self._ask_all(self._operations, self._before)
                    raise

    def _apply_to_aspect(self, aspect: str, proposals: Sequence[Proposal]) -> None:
        proposals = [proposal for proposal in proposals if not self._is_left_out(proposal)]
        if not proposals:
            return
        for proposal in proposals if self._exists else ():
            if proposal.change is Change.CREATE_ENTITY:
                raise BadInput(f"`{self.entity.name}` already exists", where=proposal.where)
        if is_timed(aspect):
            for proposal in proposals:
                patched = _patched_value(
                    [proposal], None, self._begin, self._switches.patch_operations
                )
                self._in_time.append(Write(self.entity, aspect, patched, proposal.system))
            return
        old = _value(self._after.get(aspect))
        patched = _patched_value(proposals, old, self._begin, self._switches.patch_operations)
        if aspect == "domains" and patched is not None:
            patched = domains.align_lists(old, patched, proposals[-1].where)
        self._writes[aspect] = Write(self.entity, aspect, patched, proposals[-1].system)
        if patched is None:
            self._after.pop(aspect, None)
        else:
            self._after[aspect] = Aspect(patched, {}, {})

    def _is_left_out(self, proposal: Proposal) -> bool:
        """Whether a proposal is skipped: it creates something only if absent, and it exists."""
        if proposal.change is Change.CREATE_ENTITY:
            return proposal.absent and self._exists
        return proposal.absent and proposal.aspect in self._before

    def seeds(self) -> Iterator[Write]:
        """The proposed domains that already count for the other proposals."""
        if self._is_seeded and "domains" in self._writes:
            yield self._writes["domains"]

    def ask_seeded(self) -> None:
        """Checks the operations with the proposed domains."""
        if self._is_seeded:
            self._ask_all(self._operations, self._after)

    def check(self) -> None:
        """Checks the privileges that the aspects grant."""
        beside = self._after.get("domains") if "domains" in self._by_aspect else None
        for write in self._unseeded_writes():
            old, new = self._before.get(write.aspect), self._after.get(write.aspect)
            self._guard.check(
                write.aspect,
                _value(old),
                _value(new),
                is_there=self._exists,
                domains=_value(beside),
            )

    def check_versions(self) -> None:
        """Compares the stored versions with the expected ones, after authorization."""
        for proposal in chain.from_iterable(self._by_aspect.values()):
            if proposal.expected:
                check_version(self._before.get(proposal.aspect), proposal.expected)

    def parents(self) -> Iterator[Write]:
        """The logical parent, if it changes."""
        write = self._writes.get(logical_parent.LOGICAL)
        old = self._before.get(logical_parent.LOGICAL)
        if write is not None and write.value != _value(old):
            yield write

    def writes(self) -> Iterator[Write]:
        """The remaining writes; raises `LimitExceeded` for too many aspects."""
        most = self._switches.entity_aspects
        if len(self._after) > max(most, len(self._before)):
            raise LimitExceeded(
                f"`{self.entity.name}` would have {len(self._after):,} aspects, at most {most:,}"
                " are allowed (setting `datahub.entity_aspects`)"
            )
        yield from self._unseeded_writes()
        yield from self._in_time

    def _unseeded_writes(self) -> Iterator[Write]:
        seeded = self._is_seeded
        return (write for write in self._writes.values() if not seeded or write.aspect != "domains")

    @property
    def _is_seeded(self) -> bool:
        in_domains = "domains" in self._by_aspect
        return bool(self._switches.domains) and in_domains and self.entity.type != "query"

    @property
    def _decides_by_stored_domains(self) -> bool:
        """Whether the stored domains decide: for stored entities, unless set as in the original."""
        if not self._is_seeded:
            return True
        is_original = self._switches.domains == ORIGINAL
        return "domains" in self._before if is_original else self._exists

    @property
    def _operations(self) -> set[str]:
        all_of_them = chain.from_iterable(self._by_aspect.values())
        return {_operation(proposal.change, is_there=self._exists) for proposal in all_of_them}

    def _ask_all(self, operations: Iterable[str], after: Mapping[str, Aspect]) -> None:
        type, is_new = self.entity.type, not self._exists
        for operation in sorted(operations):
            makes = is_new and operation != "entity.delete"
            if type == "query" and makes:
                subjects_value = _value(after.get("querySubjects"))
                subjects = self._guard.targets("querySubjects", "subject", subjects_value)
                self._guard.ask("entity.create", lists={"subjects": subjects})
                continue
            self._guard.ask(operation)


def _operation(change: Change, *, is_there: bool) -> str:
    """The operation of a change. SOURCE: datahub reference 5.4, changeType."""
    if change is Change.DELETE:
        return "entity.delete"
    if is_there or change in (Change.CREATE, Change.PATCH):
        return "entity.update"
    return "entity.create"


def _patched_value(
    proposals: Iterable[Proposal], value: Value | None, begin: Begin, most: int
) -> Value | None:
    """The aspect after the proposals; None if there is none. Raises `BadInput`.

    A patch of a missing aspect is applied to the result of `begin`.

    COST: consecutive patches are applied to one copy.
    """
    patched: PatchedAspect | None = None
    aspect = where = ""
    for proposal in proposals:
        aspect, where = proposal.aspect, proposal.where
        if proposal.change is Change.PATCH:
            patched = patched or PatchedAspect(begin(aspect) if value is None else value, begin)
            patched.apply(proposal.value, where, most)
            continue
        creates = proposal.change in (Change.ADD, Change.CREATE)
        if creates and (patched or value is not None):
            raise BadInput(f"`{aspect}` already exists", where=where)
        patched = None
        value = (
            None
            if proposal.change is Change.DELETE
            else _storable_value(aspect, proposal.value, where)
        )
    return value if patched is None else _storable_value(aspect, patched.value(), where)


def _storable_value(aspect: str, value: object, where: str) -> Value:
    """The value, if it can be stored; raises `BadInput`."""
    if not isinstance(value, dict):
        raise BadInput("expected an object", where=where)
    secret = aspects.secret_in(aspect, value)
    if secret is not None:
        message = f"`{secret}` is a secret, and secrets are set by calls of their own"
        raise BadInput(message, where=where)
    return value


def _value(aspect: Aspect | None) -> Value | None:
    return None if aspect is None else aspect.value
