"""Which push targets a realm may have: kinds, names, styles and addresses."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from typing import Any, Final

from lakewarden.engines import engine as engines
from lakewarden.engines.mapping import ON, of_model
from lakewarden.kernel.errors import BadInput
from lakewarden.registry import registry
from lakewarden.service.push_target import (
    ENGINES_OF_RANGER,
    NAME,
    RANGER,
    PushTarget,
)
from lakewarden.service.state import RealmState

_EXPECTED: Final = (
    "expected `KIND://USER:PASSWORD@HOST:PORT/DATABASE`, with other characters percent-encoded"
)


_ADDRESS: Final = re.compile(
    r"[a-z]+(\+[a-z0-9]+)?://"
    r"([\w.~!$&'()*+,;=%-]*(:[\w.~!$&'()*+,;=%-]*)?@)?"
    r"(?P<host>[A-Za-z0-9.-]+|\[[0-9A-Fa-f:.]+\])(:[0-9]{1,5})?"
    r"(/[\w.~%-]*)?(\?(?P<options>[\w.~%=&-]*))?",
    re.ASCII,
)
"""Stricter than database clients, so that these find the same host in the address."""


_OPTIONS: Final = frozenset({"application_name", "file_system", "rate", "sslmode", "tags", "zone"})
"""Options of an address that name neither a file of the server nor a host to connect to."""


def declared(
    name: str, realm: str, catalog: str, address: str, style: str = "", *, follow: bool = False
) -> PushTarget:
    """The target at an address, for a catalog `METALAKE.CATALOG`; raises `BadInput`.

    For Ranger it may be all catalogs of a `METALAKE`.
    """
    metalake, dot, own = catalog.partition(".")
    is_whole = not dot and re.match(rf"{RANGER}(\+https?)?://", address) is not None
    if not (metalake and (own or is_whole)):
        raise BadInput(f"expected `METALAKE.CATALOG`, got `{catalog}`", where="catalog")
    scheme, is_url, _ = address.partition("://")
    if not is_url:
        raise BadInput(_EXPECTED, where="url")
    scheme = scheme.partition("+")[0]
    kind = engines.pushed_engines().get(scheme, scheme)
    return PushTarget(name, realm, kind, metalake, own, style=style, follow=follow)


def style_names(model: str) -> Sequence[str]:
    """The styles of a model."""
    system = registry().shipper_of(model)
    return (system.name,) if system is not None and system.push_styles else ()


def styles(model: str, style: str) -> Mapping[str, Any]:
    """What implements a style of a model, by kinds of targets; empty for an unknown style."""
    system = registry().shipper_of(model)
    if system is None or system.name != style or not system.push_styles:
        return {}
    found: Mapping[str, Any] = system.load(system.push_styles)
    return found


def check_address(address: str, hosts: Collection[str]) -> None:
    """Raises `BadInput` for an address to which the server must not connect.

    It must name one of the hosts, and must not make a client read files of the server, or use the
    account that the server runs as.
    """
    found = _ADDRESS.fullmatch(address)
    if found is None:
        raise BadInput(_EXPECTED, where="url")
    host = found["host"].lower().strip("[]")
    if host not in hosts:
        message = f"`{host}` is not an allowed host of targets; see `push.hosts`"
        raise BadInput(message, where="url")
    for option in filter(None, (found["options"] or "").split("&")):
        if option.partition("=")[0] not in _OPTIONS:
            expected = ", ".join(sorted(_OPTIONS))
            raise BadInput(f"an address accepts only the options {expected}", where="url")


def check(new: PushTarget, realm: RealmState) -> None:
    """Raises `BadInput` for a target that the realm cannot have."""
    if re.fullmatch(NAME, new.name) is None:
        message = (
            f"expected at most 16 lower-case letters and digits, first a letter, got `{new.name}`"
        )
        raise BadInput(message, where="name")
    if new.kind == RANGER:
        _check_ranger(new, realm)
        return
    if new.kind not in engines.pushed_engines().values():
        expected = ", ".join(sorted({*engines.pushed_engines(), RANGER}))
        raise BadInput(f"cannot push to `{new.kind}`; expected one of: {expected}", where="url")
    if new.kind not in of_model(realm.realm.model):
        message = f"the model `{realm.realm.model}` has no mapping for `{new.kind}`"
        raise BadInput(message, where="realm")
    _check_style(new, realm)
    _check_setting(new, realm)


def _check_setting(new: PushTarget, realm: RealmState) -> None:
    why = switched_off(new, realm)
    if why:
        raise BadInput(why, where="realm")


def switched_off(target: PushTarget, realm: RealmState) -> str:
    """The setting of the realm that must be on for the target; "" if it is on, or not needed."""
    if target.kind not in (RANGER, *engines.pushed_engines().values()):
        return ""
    kinds = [target.kind]
    if target.kind == RANGER:
        kinds = [one for one in ENGINES_OF_RANGER if one in of_model(realm.realm.model)]
    if any(realm.system.model.settings.get(one) == ON for one in kinds):
        return ""
    message = f"set `{'`, `'.join(kinds)}` to `on` for the realm `{realm.realm.name}`"
    return f"{message}: each one with a Ranger service" if target.kind == RANGER else message


def _check_style(new: PushTarget, realm: RealmState) -> None:
    if new.style and new.kind not in styles(realm.realm.model, new.style):
        message = f"there is no style `{new.style}` for `{new.kind}` in the model"
        raise BadInput(f"{message} `{realm.realm.model}`", where="style")


def _check_ranger(new: PushTarget, realm: RealmState) -> None:
    if of_model(realm.realm.model).keys().isdisjoint(ENGINES_OF_RANGER):
        message = f"the model `{realm.realm.model}` has no mapping for engines of Ranger"
        raise BadInput(message, where="realm")
    _check_style(new, realm)
    _check_setting(new, realm)
