"""The two lists of the aspect `domains`, which name the same domains.

`domainAssociations` also has the origin of each; policies read `domains`. A write of either list
changes both. SOURCE: DomainsSyncMutationHook.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final

from lakewarden.kernel.errors import BadInput
from lakewarden.systems.datahub.aspects.fields import Fields

LISTED: Final = "domains"
ASSOCIATED: Final = "domainAssociations"


def align_lists(old: Mapping[str, Any] | None, new: dict[str, Any], where: str) -> dict[str, Any]:
    """The new value with both lists, if it has associations: the list that changed wins.

    Raises `BadInput` if both changed and name different domains.

    >>> align_lists(None, {"domainAssociations": [{"domain": "a"}]}, "")
    {'domainAssociations': [{'domain': 'a'}], 'domains': ['a']}
    """
    if new.get(ASSOCIATED) is None or new == old:
        return new
    before, after = Fields(old or {}, where), Fields(new, where)
    listed, associated = after.texts(LISTED), _listed_domains(after)
    is_listed_anew = listed != before.texts(LISTED)
    if is_listed_anew and after.values(ASSOCIATED) == before.values(ASSOCIATED):
        return {**new, ASSOCIATED: _associations(after, listed)}
    if is_listed_anew and listed and set(listed) != set(associated):
        message = f"expected the domains of `{ASSOCIATED}`, or none"
        raise BadInput(message, where=after.at(LISTED))
    return {**new, LISTED: list(dict.fromkeys(associated))}


def _listed_domains(value: Fields) -> list[str]:
    return [item.text("domain") for item in value.objects(ASSOCIATED)]


def _associations(value: Fields, listed: Iterable[str]) -> list[object]:
    """The associations of the listed domains: existing ones, and plain ones for the others."""
    associations = value.objects(ASSOCIATED)
    remaining: list[object] = [
        association.everything()
        for association in associations
        if association.text("domain") in listed
    ]
    associated = set(_listed_domains(value))
    return [*remaining, *({"domain": urn} for urn in listed if urn not in associated)]
