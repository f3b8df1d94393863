"""The realm's answers to Polaris: an operation on securables becomes one on entities."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from lakewarden.engines.engine import Act
from lakewarden.http.engine_access import EngineAccess
from lakewarden.http.opa.polaris_question import PRINCIPAL, ROOT, Question, Securable, names
from lakewarden.service.denials import DeniedDecision

ENGINE: Final = "polaris"


class PolarisEvaluator:
    """The answer to one question, and why it was not understood."""

    def __init__(self, access: EngineAccess, question: Question) -> None:
        self._access = access
        self._question = question
        self._acts = access.mapping.engine.acts

    def not_understood(self) -> str:
        """The part of the question that the realm cannot interpret, as a sentence; "" for none."""
        act = self._acts.get(self._question.action)
        if act is None:
            return "this operation of Polaris is not known"
        for asked, securables, types in self._sides(act):
            if not securables and types:
                return f"nothing of type {types[0]} is named"
            for one in securables:
                if one.type not in types:
                    return f"{act.name} is not about this type"
                found = names(one)
                if found is None:
                    return f"the parents of the {one.type} do not make one place"
                if self._access.target(asked, found) is None:
                    return f"the names of the {one.type} are no names of the realm"
        return ""

    def allows(self) -> bool:
        """Whether the operation is allowed on all targets and all secondaries."""
        act = self._acts.get(self._question.action)
        if act is None or self.not_understood():
            return False
        sides = self._sides(act)
        return all(self._allows(asked, one) for asked, securables, _ in sides for one in securables)

    def denied(self) -> DeniedDecision | None:
        """The decision behind a denial; None if the question was not understood."""
        act = self._acts.get(self._question.action)
        if act is None or self.not_understood():
            return None
        for asked, securables, _ in self._sides(act):
            for one in securables:
                found = names(one)
                entity = None if found is None else self._access.target(asked, found)
                if entity is not None and not self._allows(asked, one):
                    return self._access.denied_decision(asked, entity)
        return None

    def _sides(self, act: Act) -> Sequence[tuple[Act, Sequence[Securable], Sequence[str]]]:
        """Targets and secondaries, each with the act to check and the accepted types.

        An operation on the root names it, or nothing.
        """
        resource = self._question.resource
        is_rooted = act.resources == (ROOT,) and not resource.targets
        targets = [Securable(ROOT, "")] if is_rooted else resource.targets
        entering = self._acts[act.enters] if act.enters else act
        return (act, targets, act.resources), (entering, resource.secondaries, act.second)

    def _allows(self, act: Act, securable: Securable) -> bool:
        is_principal = act.own and securable.type == PRINCIPAL
        if is_principal and securable.name == self._question.actor.principal:
            return True
        found = names(securable)
        return found is not None and self._access.decides(act, found)
