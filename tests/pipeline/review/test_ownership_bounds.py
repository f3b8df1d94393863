"""The maximum of owners' access in groups, counted once for all questions, as for classes."""

from __future__ import annotations

import numpy as np
import pytest

from lakewarden.pipeline.review import ownership_access
from lakewarden.pipeline.review.asset_rows import containers
from lakewarden.pipeline.review.audience import Audience, People
from lakewarden.pipeline.review.column import Codes, Column
from lakewarden.pipeline.review.group import Group, Grouping
from lakewarden.pipeline.review.group_bounds import Groups, OwnershipBounds, groups_of
from lakewarden.pipeline.review.ownership_access import Owning
from lakewarden.pipeline.review.question import Chosen
from lakewarden.pipeline.review.reduction import Reduction
from lakewarden.pipeline.review.residue import Residues
from tests.agreement import harness
from tests.pipeline.review.whole import compiled, some


@pytest.mark.by_day(3)
@pytest.mark.parametrize("members", [ownership_access._MEMBERS, 1], ids=["together", "in batches"])
@pytest.mark.parametrize("name", harness.SYSTEMS)
def test_owners_are_counted_once_as_they_are_question_by_question(
    name: str, members: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    counted = 0
    for world in some(name, 9_000, 3):
        snapshot = compiled(world)
        people = People(snapshot.coded.memberships, snapshot.coded.ownerships, snapshot.table)
        residues = Residues()
        reduction = Reduction(snapshot, residues)
        owning, other = (Owning(reduction, Audience(people, residues), people) for _ in range(2))
        grouping = Grouping(reduction, people, {})
        for type in filter(None, snapshot.coded.tree.kinds):
            ids = np.asarray(snapshot.of_type(type).to_array(), dtype=np.int32)
            if not len(ids):
                continue
            groups = groups_of(snapshot, type, ids, *containers(snapshot, ids))
            most = OwnershipBounds(owning, residues, groups)
            for matter in Chosen().agenda(snapshot.model, type).matters:
                found = grouping.outcomes(matter.rule, groups)
                with monkeypatch.context() as patched:
                    patched.setattr(ownership_access, "_MEMBERS", members)
                    gains = most.gains([one.atoms for one in found])
                    batched = _one_by_one(owning, residues, groups, found)
                expected = _one_by_one(other, residues, groups, found)
                assert batched.tolist() == expected.tolist(), (type, matter)
                assert gains.tolist() == expected.tolist(), (type, matter)
                counted += int(gains.sum())
    assert counted or name not in {"gravitino", "datahub"}


def _one_by_one(owning: Owning, residues: Residues, groups: Groups, found: list[Group]) -> Codes:
    """The same by the rule of each group alone, for any facts about owning and being."""
    numbers = ([residues.number(atom) for atom in one.atoms] for one in found)
    own = [residues.any_of(n for n in of if residues.is_own(n)) for of in numbers]
    return owning.gains(Column(groups.codes, tuple(own)), groups.ids)
