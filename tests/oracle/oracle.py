"""The definition of the semantics: the answers of a set of stored rows, expressed literally.

A reviewer compares this file with the source documents. It reads stored rows and the model's
declarations, nothing compiled. The compiled kernel must agree with it on every world.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Set
from dataclasses import dataclass, replace
from functools import cache
from itertools import islice, takewhile

from lakewarden.kernel import expression as rules
from lakewarden.kernel import principal as people
from lakewarden.kernel import statement as said
from lakewarden.kernel.entity import NO_RESOURCE, Entity, Spelling
from lakewarden.kernel.model import MEMBER, Field, Model, Reach, Source, above
from lakewarden.kernel.principal import Principal
from lakewarden.kernel.relations import Facts, MembershipRow
from lakewarden.kernel.request import Request, Scalar
from lakewarden.kernel.statement import Effect, Statement
from lakewarden.kernel.wildcard import matches

ANY_SUBRESOURCE = "urn:li:allEntities:all"
MOST_LEVELS = 64


class Oracle:
    """Answers questions about one set of facts under one model."""

    def __init__(self, facts: Facts, model: Model, spelling: Spelling) -> None:
        self.facts, self.model, self.spelling = facts, model, spelling
        self.stored = {row.entity: row.parent for row in facts.entities}
        # Rows about an entity that is not stored have no effect.
        self.owners = [row for row in facts.owners if row.entity in self.stored]
        self.attributes = [row for row in facts.attributes if row.entity in self.stored]
        self.relations = [row for row in facts.relations if row.source in self.stored]
        rows = facts.memberships  # without the ancestors of principals that contain themselves
        up = {m: set().union(*islice(_levels({m}, rows), 1, len(rows) + 1)) for m, _ in rows}
        self.memberships = [row for row in rows if row.member not in up[row.member]]
        self.statements = (*facts.statements, *self._implied())
        self.speaking = cache(self._speaking)  # cached: requested again for every user

    def check(self, request: Request) -> bool:
        """Whether the request is allowed; raises `Unknown` for undeclared names."""
        name, target, roles = request.operation, request.target, request.roles
        operation = self.model.operations.get(name)
        alone = rules.Holds(name if operation else self.model.privilege(name).name)
        rule = operation.rule(target.type) if operation else alone
        acts = self.acts_as(request.principal, request.groups)
        too_many = len(list(_levels(acts, self.memberships))) > MOST_LEVELS + 1
        if too_many or not self.stands(target) or not (roles is None or roles <= acts):
            return False
        return _Question(self, request, acts).meets(rule, target)

    def listing(self, request: Request, within: Entity | None = None) -> frozenset[Entity]:
        """The stored entities, below `within` if given, on which the request is allowed."""
        operation = self.model.operations.get(request.operation)
        inside = [e for e in self.stored if within in (None, *self.ancestors(e))]
        asked = [e for e in inside if operation is None or operation.rule_or_none(e.type)]
        return frozenset(e for e in asked if self.check(replace(request, target=e)))

    def who(self, request: Request) -> frozenset[Principal]:
        """The stored users who are allowed the request."""
        users = {p for p in self.facts.principals if p.kind == people.USER}
        return frozenset(u for u in users if self.check(replace(request, principal=u)))

    def obligations(self, request: Request, effect: Effect) -> frozenset[str]:
        """The ids of the filters, or the masks, that bind the user on the target."""
        acts, e = self.acts_as(request.principal, request.groups), request.target
        roles = request.roles
        awake = {p for p in acts if p.kind != people.ROLE or roles is None or p in roles}
        asked = _Question(self, request, acts)
        owned = self._nearest(e, "owned") or NO_RESOURCE  # for a column, its table

        def binds(s: Statement) -> bool:
            spared = replace(s, principals=s.exceptions, owners=s.except_owners)
            everybody = not s.principals and s.owners is None
            named = everybody or asked.names(s, acts, owned)
            return named and not asked.names(spared, awake, owned)

        def lies_on(s: Statement, at: Entity) -> bool:
            if at != e and at not in self.stored:
                return s.scope == said.On(at)
            if at != e and self._nearest(e, "filtered") in self.stored:
                return False  # if both are stored, each is only itself
            return self.contains(self._limiting(s.scope), Reach.BELOW, at)

        found = (s for s in self.statements if s.effect is effect and s.applies(request.now))
        places = (e, *self._with_the_name(e))
        reached = (s for s in found if any(lies_on(s, at) for at in places))
        return frozenset(s.id for s in reached if binds(s))

    def _with_the_name(self, e: Entity) -> list[Entity]:
        """The entities of other types with rows and the same name: a view with a table's name."""
        rows, types = self._nearest(e, "filtered"), self.model.types
        if rows is None:
            return []
        return [Entity(t, rows.name) for t in types if types[t].filtered and t != rows.type]

    def _nearest(self, e: Entity, flag: str) -> Entity | None:
        """`e` itself, or its nearest ancestor of a type with the flag."""
        types = self.model.types
        chain = (a for a in (e, *self.ancestors(e)) if a.type in types)
        return next((a for a in chain if getattr(types[a.type], flag)), None)

    def _limiting(self, scope: said.Scope) -> said.Scope:
        """The scope by the fields that filters and masks use."""
        if not isinstance(scope, said.Where):
            return scope
        named = ((c, self.model.field_of(c.field).limits) for c in scope.criteria)
        return said.Where(tuple(replace(c, field=name or c.field) for c, name in named))

    def acts_as(self, asker: Principal, groups: Iterable[Principal] = ()) -> frozenset[Principal]:
        """All principals that the user acts as, through transitive memberships."""
        acts = {asker, *groups} | ({people.ALL_USERS} if asker.kind == people.USER else set())
        acts |= set().union(*_levels(acts, self.memberships))
        acts |= {people.ANY_GROUP} if any(p.kind == people.GROUP for p in acts) else set()
        return frozenset().union(*_levels(acts, self.memberships))

    def as_principal(self, e: Entity) -> Principal | None:
        """The user, group or role that is the same as the entity."""
        found = self.model.principal_kind(e) if e.name else None
        return None if found is None else Principal(*found)

    def ancestors(self, e: Entity) -> tuple[Entity, ...]:
        """All ancestors, nearest first, as stored or as spelled; empty if `e` lies in itself."""
        found: list[Entity] = []
        at: Entity | None = e
        while at is not None and at not in found:
            found.append(at)
            spelled = self.spelling.parent(at) if at.name and at not in self.stored else None
            at = self.stored.get(at, spelled)
        return tuple(found[1 : None if at is None else found.index(at) + 1])

    def nearest(self, e: Entity, type: str) -> Entity | None:
        """`e` itself, or its nearest ancestor of the type."""
        return next((a for a in (e, *self.ancestors(e)) if a.type == type), None)

    def stands(self, e: Entity) -> bool:
        """Whether the entity is evaluated at all: it is stored, or every name of its type is."""
        known = e == NO_RESOURCE or e in self.stored or self.model.judged(e.type)
        return known and len(self.ancestors(e)) <= MOST_LEVELS

    def _implied(self) -> Iterator[Statement]:
        """Membership in a container is a privilege on it that needs no grant."""
        for e in (e for e in self.stored if e.type in self.model.membership_types):
            members = frozenset({people.members_of(e.name)})
            yield Statement("", Effect.ALLOW, frozenset({MEMBER}), said.On(e), members)

    def _speaking(self, effect: Effect, privilege: str, e: Entity, now: float) -> list[Statement]:
        """The statements in force that allow or deny the privilege on `e`."""
        declared = self.model.privilege(privilege)
        wanted = {declared.name, *(declared.implied_by if effect is Effect.ALLOW else ())}
        found = [s for s in self.statements if s.effect is effect and s.applies(now)]
        named = [s for s in found if wanted & {self.model.privilege(w).name for w in s.privileges}]
        return [s for s in named if self.contains(s.scope, declared.reach, e)]

    def contains(self, scope: said.Scope, reach: Reach, e: Entity) -> bool:
        """Whether `e` lies in the scope, for a privilege of that reach."""
        here = (e, *self.ancestors(e)) if reach is Reach.BELOW else (e,)
        match scope:
            case said.Anything():
                return True
            case said.Where(criteria):
                return self.meets(e, criteria)
            case said.On(x):
                return x in here or (reach is Reach.ABOVE and e in self.ancestors(x))
            case said.Matching(type, patterns):
                fits = any(self._fits(a, type, patterns) for a in here)
                return fits or (reach is Reach.ABOVE and self._lies_above(e, type, patterns))

    def _fits(self, e: Entity, type: str, patterns: tuple[str, ...]) -> bool:
        """Whether `e` has the type and as many parts, each matching its pattern."""
        parts = self.spelling.parts(e) if e.type == type and e.name else ()
        return len(parts) == len(patterns) and all(map(matches, patterns, parts))

    def _lies_above(self, e: Entity, type: str, patterns: tuple[str, ...]) -> bool:
        """Whether `e` has a type above the pattern's, and its parts match the first patterns."""
        types = above(self.model.types, type) - {type}
        parts = self.spelling.parts(e) if e.type in types and e.name else ()
        return 0 < len(parts) <= len(patterns) and all(map(matches, patterns, parts))

    def meets(self, e: Entity, criteria: Iterable[said.Criterion]) -> bool:
        """Whether every criterion holds for its field's values; without values, none holds."""
        held = (_holds(c, self.values(self.model.field_of(c.field), e)) for c in criteria)
        return e != NO_RESOURCE and all(held)

    def values(self, field: Field, e: Entity) -> set[str]:
        """The values of the field for `e`: the first origin with any value, and `e` itself."""
        resolved = (set(self._resolved(origin, field, e)) for origin in field.origin)
        itself = {e.name, *self._up(field, e)} if e.type in field.itself and e.name else set()
        first = set().union(*resolved) if field.every else next(filter(None, resolved), set())
        values = itself.union(first)
        above = next(iter(self.ancestors(e)), None) if field.inherited else None
        return values if above is None else values | self.values(field, above)

    def _resolved(self, origin: str, field: Field, e: Entity) -> Iterable[str]:
        match origin:
            case "type" | "name":
                return {e.type if origin == "type" else e.name} - {""}
            case "owners":
                return {row.owner.name for row in self.owners if row.entity == e}
            case "groups":  # the user's direct groups
                rows = (r for r in self.facts.memberships if r.member == self.as_principal(e))
                both = (people.USER, people.GROUP)
                return {of.name for member, of in rows if (member.kind, of.kind) == both}
            case "attribute":
                rows_of_e = (r for r in self.attributes if r.entity == e)
                return {t for _, a, v in rows_of_e for t in (a, f"{a}={v}")}
            case "parent":
                return self._up(field, e)
            case _:
                targets = [r.target for r in self.relations if (r.kind, r.source) == (origin, e)]
                return {name for t in targets for name in (t.name, *self._up(field, t))}

    def _up(self, field: Field, e: Entity) -> list[str]:
        """The names of the ancestors, while they are of the types that the field names."""
        return [a.name for a in takewhile(lambda a: a.type in field.up, self.ancestors(e))]


@dataclass
class _Question:
    """One request, the principals that the user acts as, and the evaluation of a rule."""

    world: Oracle
    request: Request
    acts: frozenset[Principal]

    def meets(self, node: rules.Node, e: Entity) -> bool:
        """Whether the rule is met on `e`."""
        match node:
            case rules.Anyone() | rules.Nobody():
                return isinstance(node, rules.Anyone)
            case rules.And(parts):
                return all(self.meets(part, e) for part in parts)
            case rules.Or(parts):
                return any(self.meets(part, e) for part in parts)
            case rules.Holds(privilege):
                return self._holds(privilege, e)
            case rules.NotDenied(privilege):
                return not self._denied(privilege, e)
            case rules.Owner(levels):
                owned = [e if v == rules.SELF else self.world.nearest(e, v) for v in levels]
                return any(r.entity in owned and r.owner in self.acts for r in self.world.owners)
            case rules.IsSelf():
                return self.world.as_principal(e) in self.acts
            case rules.ServiceAdmin():
                return people.SERVICE_ADMINS in self.acts
            case rules.At(selector, inner):
                return self._meets_at(self._selected(selector, e), inner)
            case rules.Every(source, inner):
                met = [self._meets_at(x, inner) for x in self._related(source, e)]
                return bool(met) and all(met)
            case rules.Some(source, inner):
                return any(self._meets_at(x, inner) for x in self._related(source, e))
            case rules.May(name):
                rule = self.world.model.operation(name).rule_or_none(e.type)
                return rule is not None and self.meets(rule, e)
            case rules.Compare(name, operator, value):
                named = value if isinstance(value, tuple) else (value,)
                return any((v in named) == (operator != "!=") for v in self._values(name, e))

    def _holds(self, privilege: str, e: Entity) -> bool:
        """Allowed and not denied; or a privilege that everybody has on their own entity."""
        asker = self.request.principal
        own = asker.kind == people.USER and self.world.as_principal(e) == asker
        if own and privilege in self.world.model.self_privileges:
            return True
        allowing = self.world.speaking(Effect.ALLOW, privilege, e, self.request.now)
        return not self._denied(privilege, e) and any(self._opens(s, e) for s in allowing)

    def _denied(self, privilege: str, e: Entity) -> bool:
        """A DENY applies to all principals that the user acts as, active or not."""
        denying = self.world.speaking(Effect.DENY, privilege, e, self.request.now)
        return any(self.names(s, self.acts, e) for s in denying)

    def _opens(self, s: Statement, e: Entity) -> bool:
        """An ALLOW applies only to active roles, and to all sub-resources or none."""
        active = self.request.roles
        acts = {p for p in self.acts if p.kind != people.ROLE or active is None or p in active}
        return self.names(s, acts, e) and all(
            s.constraint is None or x.name == ANY_SUBRESOURCE or self.world.meets(x, s.constraint)
            for x in self.request.subresources
        )

    def names(self, s: Statement, acts: Iterable[Principal], e: Entity) -> bool:
        """Whether `s` names a principal, or owners of `e`, optionally with a type of ownership."""
        return not s.principals.isdisjoint(acts) or any(
            s.owners.types is None or row.ownership in s.owners.types - {""}
            for row in self.world.owners
            if s.owners is not None and row.entity == e and row.owner in self.acts
        )

    def _meets_at(self, x: Entity | None, inner: rules.Node) -> bool:
        """Whether `inner` is met there; false if there is no entity, or it is not evaluated."""
        return x is not None and self.world.stands(x) and self.meets(inner, x)

    def _selected(self, selector: str, e: Entity) -> Entity | None:
        parent = next(iter(self.world.ancestors(e)), None)
        fixed = {rules.PLATFORM: NO_RESOURCE, rules.TYPE: Entity(e.type, ""), rules.PARENT: parent}
        if selector.startswith(rules.REQUEST):
            return self.request.targets.get(selector.removeprefix(rules.REQUEST))
        return fixed[selector] if selector in fixed else self.world.nearest(e, selector)

    def _related(self, source: str, e: Entity) -> Iterable[Entity | None]:
        if source == rules.ANCESTORS:
            return self.world.ancestors(e)
        if source.startswith(rules.REQUEST):
            return self.request.lists.get(source.removeprefix(rules.REQUEST), ())
        over = self.world.model.relations[source].within  # a table instead of its column
        rows = (r for r in self.world.relations if (r.kind, r.source) == (source, e))
        return [self.world.nearest(t, over.get(t.type, t.type)) for _, _, t in rows]

    def _values(self, name: str, e: Entity) -> list[Scalar]:
        """The attribute as sent, if the request may set it, or else as stored; or nothing."""
        declared, sent = self.world.model.attributes[name], self.request.attributes
        kinds = (int, float) if declared.type is float else (declared.type,)
        if declared.source is not Source.STORED and type(sent.get(name)) in kinds:
            return [sent[name]]
        whose, _, stored = name.partition(".")
        rows = () if declared.source is Source.REQUEST else self.world.attributes
        resource = [r for r in rows if r.entity == e]
        asker = [r for r in rows if self.world.as_principal(r.entity) == self.request.principal]
        about = {"resource": resource, "subject": asker}.get(whose, [])
        return [v for r in about if r.attribute == stored for v in _read(r.value, declared.type)]


def _levels(level: Set[Principal], rows: Iterable[MembershipRow]) -> Iterator[Set[Principal]]:
    """The level itself, then its containing principals, and so on; infinite on a cycle."""
    while level:
        yield level
        level = {row.of for row in rows if row.member in level}


def _holds(criterion: said.Criterion, found: set[str]) -> bool:
    if criterion.condition is said.Condition.STARTS_WITH:
        return any(v.startswith(w) for v in found for w in criterion.values if w)
    return (criterion.condition is said.Condition.EQUALS) != found.isdisjoint(criterion.values)


def _read(text: str, type: type) -> list[Scalar]:
    """A stored text as a value of the type; empty if it is not one."""
    try:
        return [{"true": True, "false": False}[text] if type is bool else type(text)]
    except (KeyError, ValueError):
        return []
