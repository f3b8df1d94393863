"""Creates administrators of lakewarden like a first start does: without authorization."""

from __future__ import annotations

from lakewarden.kernel.change import MembershipChanged, PrincipalChanged
from lakewarden.kernel.principal import SERVICE_ADMINS, USER, Principal
from lakewarden.kernel.relations import MembershipRow
from lakewarden.service.realm import CONTROL, people_of
from lakewarden.service.state import People
from lakewarden.service.write_transaction import WriteTransaction


def make_administrator(transaction: WriteTransaction, user: str, directory: str) -> None:
    """Makes a user of the control realm's directory an administrator."""
    person = Principal(USER, user)
    if person not in transaction.state.people.get(directory, People()).principals:
        transaction.change(people_of(directory), PrincipalChanged(person, True))
    realm_state = transaction.realm(CONTROL)
    row = MembershipRow(realm_state.system.spelled(person), SERVICE_ADMINS)
    if row not in realm_state.own.memberships:
        transaction.change(CONTROL, MembershipChanged(row, True))
