"""Statements of random worlds: of any kind that a model admits, or with a given effect."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace

from lakewarden.kernel.entity import NO_RESOURCE, Entity
from lakewarden.kernel.errors import WardenError
from lakewarden.kernel.model import ANY, Field, Privilege, Reach
from lakewarden.kernel.principal import (
    ALL_USERS,
    ANY_GROUP,
    GROUP,
    MASTER,
    SERVICE_ADMINS,
    Principal,
    members_of,
)
from lakewarden.kernel.statement import (
    Anything,
    Condition,
    Criterion,
    Effect,
    Matching,
    On,
    Owners,
    Scope,
    Statement,
    Where,
)
from lakewarden.testing.world_draft import NOW, OWNERSHIPS, WorldDraft


class StatementGenerator:
    """Statements over a draft: any, or only those that open something."""

    def __init__(self, draft: WorldDraft) -> None:
        self._draft = draft
        self._model = draft.model
        self._rng = draft.rng

    def anything(self) -> Statement:
        """A statement of any kind that the model admits."""
        draft = self._draft
        privilege = self._privilege()
        scope = self._scope(privilege)
        effect = Effect.DENY if self._model.denies and draft.often(0.22) else Effect.ALLOW
        # A DENY names principals: in no system does it apply to owners.
        to_owners = effect is Effect.ALLOW and draft.often(0.15)
        owners = self._owners() if to_owners else None
        principals = self.actors() if owners is None or draft.often(0.5) else []
        return Statement(
            id=draft.next_id(),
            effect=effect,
            privileges=frozenset(self._together(privilege, scope)),
            scope=scope,
            principals=frozenset(principals),
            owners=owners,
            constraint=self._constraint() if draft.often(0.1) else None,
            valid_from=self._edge(0.12),
            valid_until=self._edge(0.12),
            active=not draft.often(0.05),
        )

    def obligation(self, effect: Effect) -> Statement | None:
        """A filter or a mask; None if the model has nothing that it could bind."""
        draft = self._draft
        types = sorted(t for t in self._model.types if self._model.reaches(effect, t))
        scope = self._obliging_scope(types) if types else None
        if scope is None:
            return None
        to_owners, spares_owners = draft.often(0.1), draft.often(0.2)
        return Statement(
            id=draft.next_id(),
            effect=effect,
            privileges=frozenset(),
            scope=scope,
            principals=frozenset(self.actors() if draft.often(0.6) else ()),
            owners=self._typed_owners() if to_owners else None,
            valid_from=self._edge(0.1),
            valid_until=self._edge(0.1),
            active=not draft.often(0.05),
            exceptions=frozenset(self.actors() if draft.often(0.5) else ()),
            except_owners=self._typed_owners() if spares_owners else None,
            expression="null" if effect is Effect.MASK else "1 = 1",
        )

    def _obliging_scope(self, types: Sequence[str]) -> Scope | None:
        draft = self._draft
        if self._model.fields and draft.often(0.3):
            return Where(self._criteria(self._model.fields.values(), 2, least=1))
        entity = draft.target(self._rng.choice(types))
        if not entity.name:
            return None
        return self.blurred(entity) if draft.has_wildcards and draft.often(0.3) else On(entity)

    def _typed_owners(self) -> Owners:
        """Owners of any type, or of one."""
        ownership = self._rng.choice(OWNERSHIPS)
        return Owners(frozenset({ownership}) if ownership else None)

    def _privilege(self) -> Privilege:
        declared = list(self._model.privileges.values())
        grantable = [p for p in declared if p.grantable]
        return self._rng.choice(declared if self._draft.often(0.1) else grantable)

    def _together(self, privilege: Privilege, scope: Scope) -> Iterator[str]:
        """The privilege with one or two others that the same scope admits."""
        yield self.spelled(privilege)
        for other in self._draft.some(self._model.privileges.values(), least=0):
            if not isinstance(scope, On) or _binds(other, scope.entity):
                yield self.spelled(other)

    def spelled(self, privilege: Privilege) -> str:
        """The privilege's name, or an older one."""
        return self._rng.choice((privilege.name, privilege.name, *privilege.aliases))

    def actors(self) -> list[Principal]:
        """One to three of the principals, or everybody."""
        draft = self._draft
        implied = [ALL_USERS, ANY_GROUP, SERVICE_ADMINS, MASTER]
        containers = draft.of_types(self._model.membership_types or "-")
        implied += [members_of(e.name) for e in containers if e.name]
        everybody = [self._rng.choice(implied)] if draft.often(0.2) else []
        return everybody or draft.some(draft.principals, 3) or [ALL_USERS]

    def _owners(self) -> Owners:
        if self._draft.often(0.4):
            return Owners()
        return Owners(frozenset(self._draft.some(OWNERSHIPS[1:], least=0)))

    def _edge(self, share: float) -> float | None:
        """A limit of the validity: around the time of the request, mostly none."""
        return NOW + self._rng.choice((-50.0, 0.0, 50.0)) if self._draft.often(share) else None

    def _scope(self, privilege: Privilege) -> Scope:
        draft = self._draft
        kinds: list[Callable[[], Scope | None]] = [Anything]
        if privilege.on:
            kinds += [lambda: self._on(privilege)] * 8
        if privilege.on and draft.has_wildcards:
            kinds += [lambda: self._matching(privilege)] * 5
        if self._model.choosing:
            kinds += [lambda: Where(self.criteria(2, least=0))] * 12
        return self._rng.choice(kinds)() or Anything()

    def _on(self, privilege: Privilege) -> Scope | None:
        entity = self._anchor(privilege)
        return None if entity is None else On(entity)

    def _matching(self, privilege: Privilege) -> Scope | None:
        entity = self._anchor(privilege)
        return None if entity is None else self.blurred(entity)

    def _anchor(self, privilege: Privilege) -> Entity | None:
        entity = self._draft.target(self._rng.choice(self._draft.types_of(privilege.on)))
        return entity if entity.name else None

    def blurred(self, entity: Entity) -> Matching:
        """A pattern that the entity matches and that the system's grammar accepts."""
        spelling = self._draft.system.spelling
        for _ in range(4):
            parts = [self._pattern(part) for part in spelling.parts(entity)]
            try:
                return Matching(entity.type, spelling.pattern(entity.type, ".".join(parts)))
            except WardenError:
                continue
        return Matching(entity.type, spelling.parts(entity))

    def _pattern(self, part: str) -> str:
        cut = self._rng.randint(0, len(part))
        forms = (part, part, part, "*", "*", part[:cut] + "*", "*" + part[cut:], part[:-1] + "?")
        return self._rng.choice(forms)

    # criteria

    def criteria(self, limit: int, *, least: int = 1) -> tuple[Criterion, ...]:
        """A few criteria on any of the fields that grants can use."""
        return self._criteria(self._granting(), limit, least)

    def _criteria(self, of: Iterable[Field], limit: int, least: int) -> tuple[Criterion, ...]:
        fields = [f for f in of for _ in range(1 + (f.origin != ("type",)))]
        return tuple(self._criterion(f) for f in self._draft.some(fields, limit, least))

    def _granting(self) -> list[Field]:
        return [field for field in self._model.fields.values() if field.grants]

    def _constraint(self) -> tuple[Criterion, ...] | None:
        return self.criteria(2, least=0) if self._model.choosing else None

    def _criterion(self, of: Field) -> Criterion:
        condition = self._rng.choice((Condition.EQUALS, *Condition))
        values = [self._moved(v, condition) for v in self._draft.some(self._pool(of), 2)]
        if self._draft.often(0.05):
            values = self._rng.choice(([], ["", *values]))
        return Criterion(of.name, condition, tuple(values))

    def _moved(self, value: str, condition: Condition) -> str:
        if condition is Condition.STARTS_WITH:
            return value[: self._rng.randint(1, max(1, len(value)))]
        return value[:-1] if self._draft.often(0.03) else value

    def _pool(self, of: Field) -> list[str]:
        """Values that some resource may have."""
        values: list[str] = []
        for origin in of.origin:
            values += self._values(origin, of)
        if of.up:
            values += [e.name for e in self._draft.of_types(of.up)]
        return sorted(set(values)) or ["nothing"]

    def _values(self, origin: str, of: Field) -> Iterable[str]:
        draft = self._draft
        match origin:
            case "type":
                return draft.listed_types()
            case "name":
                return (e.name for e in draft.parents)
            case "owners":
                return (row.owner.name for row in draft.owners)
            case "groups":
                return (p.name for p in draft.people(GROUP))
            case "attribute":
                return (t for _, a, v in draft.attributes for t in (a, f"{a}={v}"))
            case "parent":
                return (e.name for e in draft.of_types(of.up))
            case kind:
                return (row.target.name for row in draft.relations if row.kind == kind)

    def _true_of(self, entity: Entity) -> tuple[Criterion, ...]:
        """Criteria that the entity meets, with other values beside the right ones."""
        fields = sorted(self._granting(), key=lambda f: f.name)
        criteria: list[Criterion] = []
        for of in self._draft.some(fields, len(fields), len(fields)):
            value = self._value_of(of, entity)
            if value and len(criteria) < 1 + self._draft.often(0.3):
                criteria.append(self._satisfied(of, value))
        return tuple(criteria)

    def _satisfied(self, of: Field, value: str) -> Criterion:
        others = self._draft.some(self._pool(of), 1, 0)
        match self._rng.choice(("equals", "equals", "starts", "not")):
            case "starts":
                cut = value[: self._rng.randint(max(1, len(value) // 2), len(value))]
                return Criterion(of.name, Condition.STARTS_WITH, (cut, *others))
            case "not":
                # Sometimes the value itself: the criterion then looks as if it holds, but does not.
                wrong = value if self._draft.often(0.3) else value + "x"
                return Criterion(of.name, Condition.NOT_EQUALS, (wrong,))
            case _:
                return Criterion(of.name, Condition.EQUALS, (*others, value))

    def _value_of(self, of: Field, entity: Entity) -> str | None:
        """A value that the field resolves to; adds one to the draft if possible."""
        draft, origin = self._draft, self._rng.choice(of.origin)
        above = [e.name for e in draft.path(entity)[1:] if e.type in of.up]
        if entity.type in of.itself and entity.name and draft.often(0.5):
            return self._rng.choice([entity.name, *above])
        match origin:
            case "type":
                return entity.type
            case "name":
                return entity.name
            case "parent":
                return draft.one(above)
            case "owners":
                owners = [row.owner.name for row in draft.owners if row.entity == entity]
                return draft.one(owners)
            case "groups":
                acts = draft.acts_as(draft.as_principal(entity) or ALL_USERS)
                return draft.one([p.name for p in acts if p.kind == GROUP])
            case "attribute":
                attributes = [r for r in draft.attributes if r.entity == entity]
                return draft.one([t for _, a, v in attributes for t in (a, f"{a}={v}")])
            case kind:
                targets = [
                    r.target for r in draft.relations if r.source == entity and r.kind == kind
                ]
                path = draft.path(draft.rng.choice(targets)) if targets else []
                return draft.one(
                    [e.name for e in path[:1] + [e for e in path[1:] if e.type in of.up]]
                )

    # opening something on purpose

    def open(self, privilege: Privilege, entity: Entity, who: Principal) -> Statement:
        """A statement that allows the privilege on the entity to everybody who acts as `who`."""
        draft = self._draft
        granted = privilege
        if privilege.implied_by and draft.often(0.9):
            granted = self._model.privileges[self._rng.choice(privilege.implied_by)]
        owners = None
        owned = [r for r in draft.owners if r.entity == entity and r.owner in draft.acts_as(who)]
        if owned and draft.often(0.4):
            ownership = owned[0].ownership
            typed = frozenset({ownership} - {""})
            owners = Owners(typed) if typed and draft.often(0.6) else Owners()
        return Statement(
            id=draft.next_id(),
            effect=Effect.ALLOW,
            privileges=frozenset({self.spelled(granted)}),
            scope=self._around(privilege, granted, entity),
            principals=frozenset() if owners else frozenset({self._rng.choice(draft.acts_as(who))}),
            owners=owners,
            constraint=self._constraint() if draft.often(0.08) else None,
            valid_from=self._edge(0.02),
            valid_until=self._edge(0.02),
        )

    def deny(self, privilege: Privilege, entity: Entity, whom: Principal) -> Statement:
        """A DENY of the privilege to `whom`, reaching the entity."""
        scope = self._around(privilege, privilege, entity)
        names = frozenset({self.spelled(privilege)})
        to = frozenset({whom})
        return Statement(self._draft.next_id(), Effect.DENY, names, scope, to)

    def only_for(self, statement: Statement, entity: Entity) -> Statement:
        """The statement under another id, limited to one sub-resource by its criteria."""
        return replace(
            statement,
            id=self._draft.next_id(),
            constraint=self._true_of(entity),
            owners=None,
            principals=statement.principals or frozenset({ALL_USERS}),
        )

    def _around(self, required: Privilege, granted: Privilege, entity: Entity) -> Scope:
        draft = self._draft
        if draft.often(0.02) or entity == NO_RESOURCE:
            return Anything()
        anchors = [e for e in self._reaching(required, entity) if e.name and _binds(granted, e)]
        kinds: list[Callable[[], Scope]] = []
        if anchors:
            kinds += [lambda: On(self._rng.choice(anchors))] * 2
        if anchors and draft.has_wildcards:
            kinds += [lambda: self.blurred(self._rng.choice(anchors))]
        if self._model.choosing:
            kinds += [lambda: Where(self._true_of(entity))] * 3
        return self._rng.choice(kinds)() if kinds else Anything()

    def _reaching(self, privilege: Privilege, entity: Entity) -> list[Entity]:
        """The entities from which a grant of the privilege reaches the entity."""
        draft = self._draft
        if privilege.reach is Reach.BELOW:
            return draft.path(entity)
        if privilege.reach is Reach.ABOVE:
            inside = [t.name for t in self._model.types.values() if entity.type in t.parents]
            named = draft.names.entity(self._rng.choice(inside), entity) if inside else None
            return [entity, *draft.below(entity), *([] if named is None else [named])]
        return [entity]


def _binds(privilege: Privilege, entity: Entity) -> bool:
    return ANY in privilege.on or entity.type in privilege.on
