"""Directories, people and memberships; and the realms' own users, groups, roles and memberships."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from lakewarden.http.admin.bodies.people import (
    Directories,
    DirectoryMembership,
    DirectoryResponse,
    Membership,
    Memberships,
    PasswordRequest,
    PrincipalRequest,
    Principals,
    UserAttributes,
    UserAttributesRequest,
)
from lakewarden.http.admin.endpoint import PAGED, Endpoint, HandlerResult, Parameter, cut_of
from lakewarden.http.exchange import Exchange
from lakewarden.kernel.errors import BadInput
from lakewarden.kernel.principal import GROUP, ROLE, USER, Principal
from lakewarden.kernel.relations import MembershipRow
from lakewarden.kernel.statement_file import principal_text
from lakewarden.service import control, directory_password, people, throttle, user_attributes
from lakewarden.service.control import Denied
from lakewarden.service.password import check_strength
from lakewarden.service.realm import people_of
from lakewarden.service.state import People
from lakewarden.service.write_transaction import WriteTransaction

_MEMBER = Parameter("member", "the member, `kind:name`", required=True)
_OF = Parameter("of", "the group or role, `kind:name`", required=True)
_PRINCIPAL = Parameter("principal", "the principal, `kind:name`", required=True)
_ONLY_MEMBER = Parameter("member", "only memberships of this principal, `kind:name`")
_ONLY_OF = Parameter("of", "only memberships in this principal, `kind:name`")
_Q = Parameter("q", "only names that contain this text, case-insensitive")
_KIND = Parameter("kind", "only principals of this kind", choices=(USER, GROUP, ROLE))


# Directories


def directories(exchange: Exchange) -> HandlerResult:
    """The directories that are visible to the caller."""
    names = {realm_state.realm.directory for realm_state in exchange.state.realms.values()}
    visible = [
        name
        for name in sorted(names | set(exchange.state.people))
        if control.is_allowed(
            exchange.state,
            exchange.actor,
            "directory.load",
            control.directory(name),
            exchange.now,
        )
    ]
    return Directories(directories=[_directory(exchange, name) for name in visible])


def directory(exchange: Exchange) -> HandlerResult:
    """One directory."""
    name = exchange.params["directory"]
    target = control.directory(name)
    refused = control.denied(exchange.state, exchange.actor, "directory.load", target, exchange.now)
    return _directory(exchange, name) if refused is None else refused


def _directory(exchange: Exchange, name: str) -> DirectoryResponse:
    principals = exchange.state.people.get(name, People()).principals
    return DirectoryResponse(
        name=name,
        users=sum(person.kind == USER for person in principals),
        groups=sum(person.kind == GROUP for person in principals),
        realms=[
            realm_state.realm.name
            for _, realm_state in sorted(exchange.state.realms.items())
            if realm_state.realm.directory == name
        ],
    )


def people_listed(exchange: Exchange) -> HandlerResult:
    """The users and groups of a directory."""
    name = exchange.params["directory"]
    directory_people = people.people(exchange.state, exchange.actor, name, exchange.now)
    return (
        directory_people
        if isinstance(directory_people, Denied)
        else _principals(exchange, directory_people.principals)
    )


def memberships_listed(exchange: Exchange) -> HandlerResult:
    """The memberships of a directory."""
    name = exchange.params["directory"]
    directory_people = people.people(exchange.state, exchange.actor, name, exchange.now)
    return (
        directory_people
        if isinstance(directory_people, Denied)
        else _memberships(exchange, directory_people.memberships)
    )


def _adding(kind: str) -> Callable[[Exchange], HandlerResult]:
    def add(exchange: Exchange) -> HandlerResult:
        name, person = exchange.params["directory"], Principal(kind, exchange.params["name"])
        return exchange.write(lambda transaction: people.add(transaction, name, person))

    return add


def _removing(kind: str) -> Callable[[Exchange], HandlerResult]:
    def remove(exchange: Exchange) -> HandlerResult:
        name, person = exchange.params["directory"], Principal(kind, exchange.params["name"])
        return exchange.write(lambda transaction: people.remove(transaction, name, person))

    return remove


def set_password(exchange: Exchange, body: PasswordRequest) -> HandlerResult:
    """Sets the password of a user of a directory."""
    directory, user = exchange.params["directory"], exchange.params["name"]
    hashing = exchange.services.passwords
    if hashing is None:
        raise BadInput("passwords are not accepted here", where="body.password")
    state, actor = exchange.state, exchange.actor
    if not directory_password.may_change_password(state, actor, directory, user, exchange.now):
        # COST: only callers who may set the password make the server hash.
        return exchange.write(
            lambda transaction: directory_password.authorize_password_change(
                transaction, directory, user
            )
        )
    check_strength(body.password, user)
    hashed = hashing.hash(body.password)
    refused = exchange.write(
        lambda transaction: directory_password.put(transaction, directory, user, hashed)
    )
    if refused is None:
        throttle.forget(exchange.service.store, people_of(directory), user)
    return refused


def remove_password(exchange: Exchange) -> HandlerResult:
    """Removes the password of a user of a directory, if there is one."""
    directory, user = exchange.params["directory"], exchange.params["name"]
    removed = exchange.write(
        lambda transaction: directory_password.remove(transaction, directory, user)
    )
    return removed if isinstance(removed, Denied) else None


def attributes(exchange: Exchange) -> HandlerResult:
    """The attributes of a user of a directory."""
    directory, user = exchange.params["directory"], exchange.params["name"]
    known = user_attributes.attributes(
        exchange.state, exchange.actor, directory, user, exchange.now
    )
    return known if isinstance(known, Denied) else UserAttributes(attributes=dict(known))


def set_attributes(exchange: Exchange, body: UserAttributesRequest) -> HandlerResult:
    """Replaces the attributes of a user of a directory."""
    directory, user = exchange.params["directory"], exchange.params["name"]
    return exchange.write(
        lambda transaction: user_attributes.put(transaction, directory, user, body.attributes)
    )


def add_member(exchange: Exchange, body: DirectoryMembership) -> HandlerResult:
    """Adds a membership to a directory."""
    name = exchange.params["directory"]
    member, of = people.read_person(body.member), people.read_person(body.of)
    return exchange.write(lambda transaction: people.add_member(transaction, name, member, of))


def remove_member(exchange: Exchange) -> HandlerResult:
    """Removes a membership from a directory."""
    name = exchange.params["directory"]
    member = people.read_person(exchange.one("member"))
    of = people.read_person(exchange.one("of"))
    return exchange.write(lambda transaction: people.remove_member(transaction, name, member, of))


# A realm's own


def principals(exchange: Exchange) -> HandlerResult:
    """The principals of a realm."""
    name = exchange.params["realm"]
    listed = people.principals(exchange.state, exchange.actor, name, exchange.now)
    return listed if isinstance(listed, Denied) else _principals(exchange, listed)


def memberships(exchange: Exchange) -> HandlerResult:
    """The memberships of a realm."""
    name = exchange.params["realm"]
    listed = people.memberships(exchange.state, exchange.actor, name, exchange.now)
    return listed if isinstance(listed, Denied) else _memberships(exchange, listed)


def add_realm_principal(exchange: Exchange, body: PrincipalRequest) -> HandlerResult:
    """Adds a user, group or role to a realm."""
    return _write(
        exchange,
        lambda transaction, realm: people.add_realm_principal(transaction, realm, body.principal),
    )


def remove_realm_principal(exchange: Exchange) -> HandlerResult:
    """Removes the realm's own record of a principal."""
    text = exchange.one("principal")
    return _write(
        exchange, lambda transaction, realm: people.remove_realm_principal(transaction, realm, text)
    )


def add_realm_member(exchange: Exchange, body: Membership) -> HandlerResult:
    """Adds a membership to a realm."""
    member, of = body.member, body.of
    return _write(
        exchange, lambda transaction, realm: people.add_realm_member(transaction, realm, member, of)
    )


def remove_realm_member(exchange: Exchange) -> HandlerResult:
    """Removes a membership of the realm itself."""
    member, of = exchange.one("member"), exchange.one("of")
    return _write(
        exchange,
        lambda transaction, realm: people.remove_realm_member(transaction, realm, member, of),
    )


def _write(
    exchange: Exchange, job: Callable[[WriteTransaction, str], Denied | None]
) -> HandlerResult:
    realm = exchange.params["realm"]
    return exchange.write(lambda transaction: job(transaction, realm))


# Shared


def _principals(exchange: Exchange, listed: Iterable[Principal]) -> Principals:
    kind, fragment = exchange.one("kind"), exchange.one("q").casefold()
    texts = sorted(
        text
        for text, p in ((principal_text(p), p) for p in listed)
        if kind in ("", p.kind) and fragment in p.name.casefold()
    )
    on_page, page = cut_of(exchange, texts, lambda text: text, kind, fragment)
    return Principals(principals=list(on_page), total=len(texts), page=page)


def _memberships(exchange: Exchange, listed: Iterable[MembershipRow]) -> Memberships:
    member, of = exchange.one("member"), exchange.one("of")
    fragment = exchange.one("q").casefold()
    pairs = sorted(
        pair
        for pair in ((principal_text(row.member), principal_text(row.of)) for row in listed)
        if member in ("", pair[0]) and of in ("", pair[1]) and fragment in " ".join(pair).casefold()
    )
    on_page, page = cut_of(exchange, pairs, "\x00".join, member, of, fragment)
    rows = [Membership(member=member, of=of) for member, of in on_page]
    return Memberships(memberships=rows, total=len(pairs), page=page)


_DIRECTORY = "/directories/{directory}"
_REALM = "/realms/{realm}"

ENDPOINTS = (
    Endpoint(
        "GET",
        "/directories",
        "directory.list",
        directories,
        "list directories",
        response=Directories,
    ),
    Endpoint(
        "GET",
        _DIRECTORY,
        "directory.load",
        directory,
        "read a directory",
        response=DirectoryResponse,
    ),
    Endpoint(
        "GET",
        _DIRECTORY + "/principals",
        "person.list",
        people_listed,
        "list the users and groups of a directory",
        response=Principals,
        query=(_KIND, _Q, *PAGED),
    ),
    *(
        Endpoint(
            method,
            f"{_DIRECTORY}/{kind}s/{{name}}",
            operation,
            handler(kind),
            f"{verb} a {kind}",
            encoded_slash=True,
        )
        for kind in (USER, GROUP)
        for method, operation, handler, verb in (
            ("PUT", "person.add", _adding, "add"),
            ("DELETE", "person.remove", _removing, "remove"),
        )
    ),
    Endpoint(
        "GET",
        _DIRECTORY + "/users/{name}/attributes",
        "person.list",
        attributes,
        "list a user's attributes",
        response=UserAttributes,
        encoded_slash=True,
    ),
    Endpoint(
        "PUT",
        _DIRECTORY + "/users/{name}/attributes",
        "person.describe",
        set_attributes,
        "replace a user's attributes",
        request=UserAttributesRequest,
        encoded_slash=True,
    ),
    Endpoint(
        "PUT",
        _DIRECTORY + "/users/{name}/password",
        "password.change",
        set_password,
        "set a user's password",
        request=PasswordRequest,
        encoded_slash=True,
    ),
    Endpoint(
        "DELETE",
        _DIRECTORY + "/users/{name}/password",
        "password.change",
        remove_password,
        "delete a user's password",
        encoded_slash=True,
    ),
    Endpoint(
        "GET",
        _DIRECTORY + "/memberships",
        "membership.list",
        memberships_listed,
        "list the memberships of a directory",
        response=Memberships,
        query=(_ONLY_MEMBER, _ONLY_OF, _Q, *PAGED),
    ),
    Endpoint(
        "PUT",
        _DIRECTORY + "/memberships",
        "membership.add",
        add_member,
        "add a member to a group",
        request=DirectoryMembership,
    ),
    Endpoint(
        "DELETE",
        _DIRECTORY + "/memberships",
        "membership.remove",
        remove_member,
        "remove a member from a group",
        query=(_MEMBER, _OF),
    ),
    Endpoint(
        "GET",
        _REALM + "/principals",
        "person.list",
        principals,
        "list the principals of a realm",
        response=Principals,
        query=(_KIND, _Q, *PAGED),
    ),
    Endpoint(
        "PUT",
        _REALM + "/principals",
        "person.add",
        add_realm_principal,
        "add a user, group or role to a realm",
        request=PrincipalRequest,
    ),
    Endpoint(
        "DELETE",
        _REALM + "/principals",
        "person.remove",
        remove_realm_principal,
        "remove a principal from a realm",
        query=(_PRINCIPAL,),
    ),
    Endpoint(
        "GET",
        _REALM + "/memberships",
        "membership.list",
        memberships,
        "list the memberships of a realm",
        response=Memberships,
        query=(_ONLY_MEMBER, _ONLY_OF, _Q, *PAGED),
    ),
    Endpoint(
        "PUT",
        _REALM + "/memberships",
        "membership.add",
        add_realm_member,
        "add a member to a group or role of a realm",
        request=Membership,
    ),
    Endpoint(
        "DELETE",
        _REALM + "/memberships",
        "membership.remove",
        remove_realm_member,
        "remove a member from a group or role of a realm",
        query=(_MEMBER, _OF),
    ),
)
