"""Ids of policies, derived from their content: an unchanged policy keeps its id."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from hashlib import blake2b
from typing import Any, Final

import msgspec

_DIGEST_BYTES: Final = 16
_UNUSED_BITS: Final = 64 - 53

Json = dict[str, Any]


def numbered(policies: Iterable[Json], label: str) -> Iterator[Json]:
    """The policies with ids, without duplicates, in their order.

    Ids are positive and have 53 bits, which every JSON parser represents exactly. If two would be
    equal, which has a probability below one in a million, the later policy gets the next number.
    """
    taken: dict[int, bytes] = {}
    for policy in policies:
        digest = blake2b(msgspec.json.encode(policy), digest_size=_DIGEST_BYTES).digest()
        id = max(int.from_bytes(digest[:8]) >> _UNUSED_BITS, 1)
        while taken.get(id, digest) != digest:
            id += 1
        if id not in taken:
            taken[id] = digest
            yield {"id": id, "guid": f"{label}-{id}", "name": f"{label} {id}", **policy}
