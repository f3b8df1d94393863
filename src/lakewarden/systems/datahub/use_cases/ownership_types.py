"""Clean-up after the deletion of an ownership type of DataHub."""

from __future__ import annotations

from collections.abc import Iterator

from lakewarden.kernel.change import OwnerChanged
from lakewarden.kernel.facts import Coded
from lakewarden.kernel.relations import OwnerRow
from lakewarden.service.write_transaction import WriteTransaction


def clear_type(transaction: WriteTransaction, realm: str, urn: str) -> None:
    """Turns owners of this type into owners without a type.

    Policies for owners of certain types no longer apply to them; those for all owners do.
    """
    for row in list(_owners(transaction.realm(realm).matrix.snapshot.coded, urn)):
        untyped = OwnerRow(row.entity, row.owner, "")
        transaction.change(realm, OwnerChanged(row, False), OwnerChanged(untyped, True))


def _owners(coded: Coded, urn: str) -> Iterator[OwnerRow]:
    if urn not in coded.ownerships:
        return
    label = coded.ownerships.index(urn)
    for owner, sources in coded.owners.inverted().items():
        for source in sources:
            if (owner, label) in coded.owners.of(source):
                yield OwnerRow(coded.tree.entity(source), coded.memberships.principals[owner], urn)
