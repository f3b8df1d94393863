"""Writes about push targets: each is authorized and audited."""

from __future__ import annotations

import re
from collections.abc import Mapping

from lakewarden.kernel.errors import BadInput, Conflict
from lakewarden.service import control
from lakewarden.service.actor import SYSTEM
from lakewarden.service.control import Denied
from lakewarden.service.push_target import (
    LEAST_SECRET,
    MOST_SECRET,
    SIGNABLE,
    DriftNote,
    PushMark,
    PushTarget,
    SentEvent,
    briefly,
    changed,
    current,
    dropped,
    name_store,
    put,
    put_added,
    put_drift_note,
    put_sent_event,
    put_url,
    put_webhook,
    record_push,
    require_mark,
    stored,
)
from lakewarden.service.push_target_check import check
from lakewarden.service.realm import CONTROL
from lakewarden.service.sealed_properties import Sealing
from lakewarden.service.write_transaction import WriteTransaction


def put_webhook_secret(
    transaction: WriteTransaction, of: PushTarget, secret: str, sealing: Sealing
) -> Denied | None:
    """Signs events of a target with this secret from now on; without one, they are not signed.

    Raises `BadInput` for an invalid secret, and `Unknown` if the target was removed meanwhile.
    """
    if secret and not re.fullmatch(f"{SIGNABLE}{{{LEAST_SECRET},{MOST_SECRET}}}", secret):
        expected = f"expected {LEAST_SECRET} to {MOST_SECRET} ASCII letters, digits and symbols"
        raise BadInput(expected, where="secret")
    refused = _refused(transaction, "push_target.put", of, signed=bool(secret))
    if refused is None:
        current(transaction.store, of)
        sealed = sealing.seal(secret) if secret else None
        transaction.change(of.realm, put_webhook(of, sealed))
    return refused


def add(
    transaction: WriteTransaction, new: PushTarget, address: str, sealing: Sealing
) -> Denied | None:
    """Stores a target. Raises `BadInput` for an invalid one, `Conflict` for a name in use.

    Names are unique across all realms.
    """
    refused = _refused(transaction, "push_target.put", new)
    if refused is not None:
        return refused
    check(new, transaction.realm(new.realm))
    store = transaction.store
    known = {one.name for realm in transaction.state.realms for one in briefly(store, realm)}
    if new.name in known:
        raise Conflict(f"a target `{new.name}` already exists")
    name_store(transaction)
    added = put_added(new, store.revision + 1)
    transaction.change(new.realm, put(new), added, put_url(new, address, sealing))
    return None


def remove(transaction: WriteTransaction, old: PushTarget) -> Denied | None:
    """Removes a target; what was pushed to it stays there. Raises `Unknown` if it is gone."""
    refused = _refused(transaction, "push_target.remove", old)
    if refused is None:
        transaction.change(old.realm, *dropped(current(transaction.store, old)))
    return refused


def record(
    transaction: WriteTransaction, done: PushTarget, mark: PushMark, **details: object
) -> Denied | None:
    """Records what was pushed to a target, as of its `pushed_at`, by the push with that mark.

    Raises `Unknown` if the target was removed meanwhile, `Busy` if another push came.
    """
    refused = _refused(transaction, "push.apply", done, **details)
    if refused is None:
        require_mark(transaction.store, done, mark)
        now = changed(
            transaction.store, done,
            pushed=done.pushed, revision=done.revision, pushed_at=done.pushed_at, journal={},
        )  # fmt: skip
        transaction.change(done.realm, *record_push(transaction, now))
    return refused


def begin(
    transaction: WriteTransaction, begun: PushTarget, mark: PushMark, **details: object
) -> Denied | None:
    """Records that a push has begun, before any change that the target keeps.

    Raises `Unknown` if the target was removed meanwhile, `Busy` if another push came.
    """
    refused = _refused(transaction, "push.apply", begun, **details)
    if refused is None:
        require_mark(transaction.store, begun, mark)
        transaction.change(
            begun.realm, put(changed(transaction.store, begun, journal=begun.journal))
        )
    return refused


def note_drift(
    transaction: WriteTransaction, of: PushTarget, counts: Mapping[str, int], digest: str
) -> Denied | None:
    """Records the findings of a watch, with an audit row; without a `digest`, that there are none.

    Records nothing if the target was removed or pushed to since it was read.
    """
    if not any(one.pushed_at == of.pushed_at for one in stored(transaction.store, of)):
        return None
    refused = _unseen(transaction, of, **counts)
    if refused is None:
        note = DriftNote(dict(counts), digest, transaction.now) if digest else None
        transaction.change(of.realm, put_drift_note(of, note))
    return refused


def note_event(transaction: WriteTransaction, of: PushTarget, sent: SentEvent) -> Denied | None:
    """Records that an event was accepted or tried, unless its target was removed meanwhile."""
    if not any(stored(transaction.store, of)):
        return None
    refused = _unseen(transaction, of, event=sent.number)
    if refused is None:
        transaction.change(of.realm, put_sent_event(of, sent))
    return refused


def _unseen(transaction: WriteTransaction, of: PushTarget, **details: object) -> Denied | None:
    """None if the writer may see drift; the server's own watch needs no right."""
    if transaction.actor is not SYSTEM:
        return _refused(transaction, "push.drift", of, **details)
    audit(transaction, of, "push.drift", "watched", **details)
    return None


def audit(
    transaction: WriteTransaction, of: PushTarget, operation: str, reason: str, **details: object
) -> None:
    """Audits an action of the server itself on a target, with its reason and without a caller."""
    transaction.audit(
        operation,
        f"realm:{of.realm}",
        "allow",
        reason,
        CONTROL,
        {"push_target": of.name, **details},
    )


def _refused(
    transaction: WriteTransaction, operation: str, about: PushTarget, **details: object
) -> Denied | None:
    return control.authorize_in_realm(
        transaction, operation, about.realm, push_target=about.name, **details
    )
