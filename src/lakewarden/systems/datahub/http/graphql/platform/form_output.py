"""Whether a form is assigned to the caller. SOURCE: records of acryl-datahub 1.7.0.17."""

from __future__ import annotations

from typing import Final

from lakewarden.systems.datahub.http.graphql.aspect_record import Record, aspect
from lakewarden.systems.datahub.http.graphql.call import Call
from lakewarden.systems.datahub.http.graphql.resolving import Info, Resolvers

_MEMBERSHIPS: Final = (("groupMembership", "groups"), ("nativeGroupMembership", "nativeGroups"))


def _is_assigned_to_me(assignment: Record, info: Info) -> bool:
    """Whether the caller or one of its groups is named."""
    call: Call = info.context
    groups = {
        urn for name, key in _MEMBERSHIPS for urn in aspect(call, call.actor, name).texts(key)
    }
    is_named = call.actor.name in assignment.texts("users")
    return is_named or not groups.isdisjoint(assignment.texts("groups"))


RESOLVERS: Final[Resolvers] = {"FormActorAssignment": {"isAssignedToMe": _is_assigned_to_me}}
