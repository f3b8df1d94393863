"""What a model says about its privileges: what each opens, and together with which others.

An operation's rule is expanded into *ways*: sets of privileges on the entity itself, each of
which is enough. Conditions that cannot be expressed so (another entity, a request's attribute)
count as met; a lint rule therefore errs towards finding nothing.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from functools import cache, cached_property
from threading import RLock

from lakewarden.kernel.expression import (
    And,
    At,
    Every,
    Holds,
    IsSelf,
    May,
    Nobody,
    Node,
    NotDenied,
    Or,
    Owner,
    ServiceAdmin,
    Some,
    children,
)
from lakewarden.kernel.model import ANY, Model, above

Way = frozenset[str]
Ways = frozenset[Way]

_NO_WAY: Ways = frozenset()
_ALWAYS: Ways = frozenset({frozenset()})

READING = frozenset(
    [
        "load",
        "list",
        "read",
        "get",
        "view",
        "search",
        "exists",
        "filter",
        "use",
        "versions",
        "plugins",
        "explain",
        "status",
    ]
)
"""First words of the last part of an operation's name, for operations that change nothing."""

VIEW = "entity.read"
"""The operation that decides visibility in systems that guard views."""

_CHANGES = ("entity.update", "entity.delete")


class Meaning:
    """The linter's view of one model."""

    def __init__(self, model: Model) -> None:
        self.model = model
        self._types = tuple(t for t in model.types if t != ANY)
        self._ways: dict[tuple[str, str, bool], Ways] = {}
        self._unfolding: set[tuple[str, str, bool]] = set()
        self._lock = RLock()  # threads share it
        # Cached with the object, not with the class, and freed with it.
        self.asked_for = cache(self._required_privileges)
        self.by_type = cache(self._by_type)
        self.companions = cache(self._required_with)
        self.stand_ins = cache(self._substitutes)

    def ways(self, operation: str, type: str, *, owning: bool = False) -> Ways:
        """The ways to an operation on a type; `owning`: for an owner of the entity itself."""
        key = (operation, type, owning)
        ways = self._ways.get(key)
        if ways is not None:
            return ways
        with self._lock:
            if key in self._unfolding:
                return _NO_WAY  # no way meets a rule that requires itself
            self._unfolding.add(key)
            try:
                rule = self.model.operations[operation].rule_or_none(type)
                ways = _NO_WAY if rule is None else _minimal(self._expand(rule, type, owning))
            finally:
                self._unfolding.discard(key)
            self._ways[key] = ways
            return ways

    def _expand(self, node: Node, type: str, owning: bool) -> Ways:
        match node:
            case Holds(privilege):
                grantable = self.model.privilege(privilege).grantable
                sets = [privilege] if grantable else self.model.privilege(privilege).implied_by
                return frozenset(frozenset({name}) for name in sets) or _ALWAYS
            case Owner(levels):
                is_own = owning and bool({"self", type} & set(levels))
                return _ALWAYS if is_own else _NO_WAY
            case Nobody() | IsSelf() | ServiceAdmin():
                return _NO_WAY
            case May(operation):
                return self.ways(operation, type, owning=owning)
            case Or(parts):
                return frozenset().union(*(self._expand(part, type, owning) for part in parts))
            case And(parts):
                combined = _ALWAYS
                for part in parts:
                    inner = self._expand(part, type, owning)
                    combined = _minimal(first | second for first in combined for second in inner)
                return combined
            case _:
                return _ALWAYS

    def _by_type(self, type: str) -> tuple[Ways, ...]:
        """The ways to each operation that applies to a type."""
        by_operation = (self.ways(o.name, type) for o in self.model.operations.values())
        return tuple(dict.fromkeys(ways for ways in by_operation if ways))

    def _required_with(self, privilege: str) -> Mapping[str, frozenset[Way]]:
        """By type: what else each way that contains the privilege needs."""
        companions: dict[str, frozenset[Way]] = {}
        for type in self._types:
            ways = [w - {privilege} for all in self.by_type(type) for w in all if privilege in w]
            if ways:
                companions[type] = frozenset(_minimal(ways))
        return companions

    def opens(self, privilege: str, type: str) -> bool:
        """Whether any operation on the type requires the privilege, there or elsewhere."""
        return any(privilege in way for ways in self.by_type(type) for way in ways)

    def _required_privileges(self, type: str) -> frozenset[str]:
        """The privileges that operations on a type name, on whichever entity they require them."""
        privileges: set[str] = set()
        visited: set[str] = set()
        todo = [o.rule_or_none(type) for o in self.model.operations.values()]
        while todo:
            node = todo.pop()
            if node is None:
                continue
            if isinstance(node, Holds):
                privileges.add(node.privilege)
            if isinstance(node, May) and node.operation not in visited:
                visited.add(node.operation)
                todo.append(self.model.operations[node.operation].rule_or_none(type))
            todo.extend(children(node))
        return frozenset(privileges)

    def _substitutes(self, privilege: str) -> frozenset[str]:
        """The privileges that can each replace this one in every way."""
        candidates: set[str] | None = None
        for type in self._types:
            for ways in self.by_type(type):
                for way in ways:
                    if privilege not in way:
                        continue
                    rest = way - {privilege}
                    others = {
                        name
                        for other in ways
                        if privilege not in other and len(other - rest) == 1
                        for name in other - rest
                    }
                    candidates = others if candidates is None else candidates & others
        return frozenset(candidates or ())

    @cached_property
    def owner_needs(self) -> Mapping[str, frozenset[str]]:
        """By type: what owners still need for most of the operations that ownership opens."""
        by_type: dict[str, frozenset[str]] = {}
        for type in self._types:
            needed: Counter[str] = Counter()
            operations = 0
            for name in self.model.operations:
                own = self.ways(name, type, owning=True)
                if own and own != self.ways(name, type):
                    operations += 1
                    needed.update(frozenset.intersection(*own))
            privileges = frozenset(
                privilege for privilege, count in needed.items() if count * 2 > operations
            )
            if privileges:
                by_type[type] = privileges
        return by_type

    @cached_property
    def changing(self) -> frozenset[str]:
        """The privileges that allow changes, not only reading.

        An operation with the same requirements as a reading one makes its changes by other means.
        """
        privileges: set[str] = set()
        for type in ("", *self._types):
            reading: set[Ways] = set()
            writing: set[Ways] = set()
            for name in self.model.operations:
                ways = self.ways(name, type)
                (reading if _is_reading(name) else writing).add(ways)
            looks = [way for ways in reading if ways for way in (frozenset.intersection(*ways),)]
            gates = frozenset().union(*looks)
            privileges.update(*(way - gates for ways in writing - reading for way in ways))
        return frozenset(privileges)

    @cached_property
    def view_privileges(self) -> frozenset[str]:
        """The privileges that show entities and allow no changes; none in most models."""
        operations = self.model.operations
        if VIEW not in operations:
            return frozenset()
        shows = {
            way
            for name in (VIEW, "entity.search_view")
            for way in self._single_privilege_ways(name)
        }
        changes = {way for name in _CHANGES for way in self._single_privilege_ways(name)}
        return frozenset().union(*(shows - changes))

    def _single_privilege_ways(self, operation: str) -> Iterator[Way]:
        if operation in self.model.operations:
            yield from (way for way in self.ways(operation, ANY) if len(way) == 1)

    @cached_property
    def granting(self) -> frozenset[str]:
        """The privileges that, alone, let their holder grant privileges."""
        name = self.model.granting
        if name is None:
            return frozenset()
        nodes = self.model.operations[name].rules.values()
        return frozenset(
            way
            for node in nodes
            for way in _privileges(_alternatives(node))
            if self.model.privilege(way).grantable
        )

    @cached_property
    def assets(self) -> frozenset[str]:
        """The types that criteria select, without the types that serve as criteria."""
        names = {
            name
            for field in self.model.fields.values()
            for name in (*field.up, *field.itself, *self._targets(field.origin))
        }
        return frozenset(
            type.name
            for type in self.model.types.values()
            if type.name not in names and type.owned and type.principal is None and type.parents
        )

    def _targets(self, origins: Iterable[str]) -> Iterator[str]:
        for origin in origins:
            if origin in self.model.relations:
                yield from self.model.relations[origin].targets

    def depth(self, type: str) -> int:
        """The minimum number of levels above a type; 0 at the top."""
        levels = 0
        reached = {type}
        while all(self.model.types[t].parents for t in reached if t in self.model.types):
            declared = (self.model.types[t] for t in reached if t in self.model.types)
            parents = {parent for type in declared for parent in type.parents}
            if not parents or parents <= reached:
                break
            reached, levels = parents, levels + 1
        return levels

    def below(self, type: str) -> frozenset[str]:
        """The types that may lie below a type."""
        types = self.model.types
        return frozenset(t for t in self._types if t != type and type in above(types, t))


_MEANINGS: dict[str, Meaning] = {}


def meaning(model: Model) -> Meaning:
    """The linter's view of a model: computed once, since it costs more than most lint runs."""
    meaning = _MEANINGS.get(model.digest)
    if meaning is None or meaning.model is not model:
        meaning = _MEANINGS[model.digest] = Meaning(model)
    return meaning


def not_denied(model: Model) -> frozenset[str]:
    """The privileges of which a DENY counts even where no ALLOW exists."""
    privileges: set[str] = set()
    todo = [rule for operation in model.operations.values() for rule in operation.rules.values()]
    while todo:
        node = todo.pop()
        if isinstance(node, NotDenied):
            privileges.add(node.privilege)
        todo.extend(children(node))
    return frozenset(privileges)


def _is_reading(operation: str) -> bool:
    last = operation.rpartition(".")[2]
    return last.partition("_")[0] in READING and not last.endswith("modify")


def _minimal(ways: Iterable[Way]) -> Ways:
    """The ways that contain no other way."""
    by_size = sorted(set(ways), key=len)
    least: list[Way] = []
    for way in by_size:
        if not any(other <= way for other in least):
            least.append(way)
    return frozenset(least)


def _alternatives(node: Node) -> Iterator[Node]:
    """The parts of a rule that could each be enough, on whichever entity they are required."""
    match node:
        case Or(parts):
            for part in parts:
                yield from _alternatives(part)
        case And(parts):
            # The gate is part of every rule and grants nothing.
            yield from _alternatives(parts[-1])
        case At(_, inner) | Every(_, inner) | Some(_, inner):
            yield from _alternatives(inner)
        case _:
            yield node


def _privileges(nodes: Iterable[Node]) -> Iterator[str]:
    for node in nodes:
        if isinstance(node, Holds):
            yield node.privilege
