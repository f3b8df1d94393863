"""The reads and writes of each realm, and their expected results.

Each realm has one client that is its only writer. So no write is in flight when the client judges
an answer, and every answer is judged. Its connections go to both workers, so after a write by one
worker the next answer of the other must reflect it. Another client queries all realms about users
whose rows never change, while the first clients write.
"""

from __future__ import annotations

import http.client
import json
import random
import time
from collections.abc import Callable, Mapping
from typing import Any, Final

from bench.soak.client import Connections, Tally
from bench.soak.estate import ADMIN, WORDS, Estate, allow
from bench.soak.truth import Truth
from lakewarden.kernel.entity import Entity
from lakewarden.kernel.principal import GROUP, ROLE, USER, Principal
from lakewarden.kernel.relations import MembershipRow
from lakewarden.kernel.statement import Condition, Criterion, On, Where
from lakewarden.systems.cdap import names as cdap

READS: Final[Mapping[str, float]] = {
    "check": 55, "batch": 8, "explain": 4, "list": 10, "resources": 2, "subjects": 2, "names": 3,
}  # fmt: skip
WRITES: Final[Mapping[str, float]] = {"grant": 6, "statement": 3, "import": 0.5}
BATCH: Final = 20
SAMPLE: Final = 25
"""The number of entities or users that are sampled to check a long answer."""
HOT: Final = 40
"""Entities that writes affect; they are queried as often as all others together."""
TRIES: Final = 10
IMPORTED: Final = 12
"""The number of statements of an imported policy."""

ASKED: Final[Mapping[str, tuple[str, ...]]] = {
    "gravitino": ("table.load", "SELECT_TABLE", "MODIFY_TABLE", "table.load_to_modify"),
    "datahub": ("entity.view", "VIEW_ENTITY_PAGE", "entity.search_view"),
    "cdap": ("dataset.get", "READ", "WRITE", "ADMIN"),
}
LISTED: Final = {
    "gravitino": ("table.list", "table.load"),
    "datahub": ("", "entity.search_view"),
    "cdap": ("dataset.list", "dataset.list.filter"),
}
"""The operation that a list requires on its container, and the one that each row requires."""

SEARCH: Final = """
query s($query: String!) {
  searchAcrossEntities(input: {
    query: $query, types: [DATASET], start: 0, count: 200, searchFlags: {skipHighlighting: true}
  }) { total searchResults { entity { urn } } }
}
"""
UPDATE: Final = """mutation u($urn: String!, $input: PolicyUpdateInput!) {
  updatePolicy(urn: $urn, input: $input)
}"""
CREATE: Final = "mutation c($input: PolicyUpdateInput!) { createPolicy(input: $input) }"


class Refused(Exception):
    """A response with an unexpected status."""


class Uncertain(Refused):
    """A response that leaves open whether a write has taken effect."""


class Given(Exception):
    """A write was refused; it is counted."""


class Acts:
    """The client of one realm. `writes` False: only reads about what never changes."""

    def __init__(
        self, estate: Estate, ask: Connections, tally: Tally, *, writes: bool, seed: int
    ) -> None:
        self.estate, self._ask, self.tally = estate, ask, tally
        self.truth = Truth(estate.facts, estate.system)
        self.draw = random.Random(seed)
        self.users = estate.users if writes else estate.still
        self.moving = estate.users[len(estate.still) :]
        self.hot = random.Random(seed + 1).sample(estate.leaves, HOT)
        self._below: dict[Entity, list[Entity]] = {}
        for row in estate.facts.entities:
            if row.parent is not None:
                self._below.setdefault(row.parent, []).append(row.entity)
        self._policies: list[str] = []
        self.prefix = f"{estate.realm}." if writes else f"still.{estate.realm}."
        self.weights = {**READS, **WRITES} if writes else dict(READS)
        if writes and estate.realm == "datahub":
            self._make_policies()
        if not writes:
            self.hot = list(estate.leaves)

    def write_often(self, times: float) -> None:
        """Multiplies the weights of writes by `times`."""
        self.weights |= {kind: WRITES[kind] * times for kind in WRITES if kind in self.weights}

    def step(self) -> None:
        """One act, drawn by its weight."""
        kinds = list(self.weights)
        kind = self.draw.choices(kinds, [self.weights[k] for k in kinds])[0]
        act: Callable[[str], None] = getattr(self, f"_{kind}")
        try:
            act(self.prefix + kind)
        except Given:
            pass
        except Refused as error:
            self.tally.failed(self.prefix + kind, str(error))

    def plant(self) -> None:
        """Writes changes that the truth does not record: answers that reflect them are wrong."""
        for number, on in enumerate(self.hot[:10]):
            body = self._written(allow("", On(on), self.moving[0], *self._privileges()))
            body["to"] = [f"{USER}:{who.name}" for who in self.moving]
            path = f"/api/v1/realms/{self.estate.realm}/statements/planted-{number}"
            self._stored("plant", "PUT", path, body)

    # --- reads ---

    def _question(self) -> tuple[Principal, str, Entity]:
        users = (
            self.moving
            if self.draw.random() < 0.5 and self.users != self.estate.still
            else (self.users)
        )
        leaves = self.hot if self.draw.random() < 0.5 else self.estate.leaves
        operation = self.draw.choice(ASKED[self.estate.realm])
        return self.draw.choice(users), operation, self.draw.choice(leaves)

    def _body(self, who: Principal, operation: str, on: Entity) -> dict[str, Any]:
        return {
            "subject": {"type": "user", "id": who.name},
            "action": {"name": operation},
            "resource": {"type": on.type, "id": on.name},
        }

    def _check(self, kind: str) -> None:
        who, operation, on = asked = self._question()
        answer = self._sent(kind, "POST", self._access("evaluation"), self._body(*asked))
        self._judged(kind, answer["decision"], self.truth.may(*asked), (who, operation, on))

    def _batch(self, kind: str) -> None:
        asked = [self._question() for _ in range(BATCH)]
        body = {"evaluations": [self._body(*each) for each in asked]}
        answer = self._sent(kind, "POST", self._access("evaluations"), body)
        for each, question in zip(answer["evaluations"], asked, strict=True):
            self._judged(kind, each["decision"], self.truth.may(*question), question)

    def _explain(self, kind: str) -> None:
        who, _, on = self._question()
        operation = self.draw.choice([o for o in ASKED[self.estate.realm] if "." in o])
        asked = who, operation, on
        body = {
            "operation": operation,
            "entity": f"{on.type}:{on.name}",
            "principal": f"user:{who.name}",
        }
        path = f"/api/v1/realms/{self.estate.realm}/explain"
        answer = self._sent(kind, "POST", path, body)
        self._judged(kind, answer["allow"], self.truth.may(*asked), asked)

    def _list(self, kind: str) -> None:
        getattr(self, f"_list_{self.estate.realm}")(kind)

    def _resources(self, kind: str) -> None:
        who, operation, _ = self._question()
        leaf = self.estate.leaves[0].type
        body = {
            "subject": {"type": "user", "id": who.name},
            "action": {"name": operation},
            "resource": {"type": leaf},
            "page": {"limit": 100},
        }
        answer = self._sent(kind, "POST", self._access("search/resource"), body)
        said = {Entity(leaf, row["id"]) for row in answer["results"]}
        for on in self.draw.sample(sorted(said), min(SAMPLE, len(said))):
            asked = (who, operation, on)
            self._judged(kind, True, self.truth.may(*asked), asked)
        if not answer["page"]["next_token"]:
            for on in self.draw.sample(self.estate.leaves, SAMPLE):
                asked = (who, operation, on)
                self._judged(kind, on in said, self.truth.may(*asked), asked)

    def _subjects(self, kind: str) -> None:
        _, operation, on = self._question()
        body = {
            "subject": {"type": "user"},
            "action": {"name": operation},
            "resource": {"type": on.type, "id": on.name},
            "page": {"limit": 1000},
        }
        answer = self._sent(kind, "POST", self._access("search/subject"), body)
        said = {row["id"] for row in answer["results"]}
        for who in self.draw.sample(self.users, SAMPLE):
            named = who.name in said or who.name.removeprefix("urn:li:corpuser:") in said
            asked = (who, operation, on)
            self._judged(kind, named, self.truth.may(*asked), asked)

    def _names(self, kind: str) -> None:
        """The administrator, who may see everything, finds a name by its last part."""
        on = self.draw.choice(self.estate.leaves)
        text = on.name.rpartition(",PROD")[0].rpartition(".")[2] or on.name
        path = f"/api/v1/search?q={text}&realm={self.estate.realm}&page.limit=100&types={on.type}"
        answer = self._sent(kind, "GET", path)
        entities = [hit["name"] for hit in answer["results"] if hit["kind"] == "entity"]
        self._judged(kind, any(on.name in name for name in entities), True, on)

    def _list_gravitino(self, kind: str) -> None:
        who, at = self.draw.choice(self.users), self.draw.choice(self.estate.places)
        catalog, schema = at.name.partition(":")[2].split(".")
        path = f"/r/gravitino/api/metalakes/lk/catalogs/{catalog}/schemas/{schema}/tables"
        status, text, took = self._ask.ask("GET", path, None, who.name)
        self.tally.took(kind, took)
        gate, each = LISTED["gravitino"]
        if not self.truth.may(who, gate, at):
            self._judged(kind, status, 403, (who, at))
            return
        said = {row["name"] for row in json.loads(text)["identifiers"]} if status == 200 else status
        expected = {
            table.name.rpartition(".")[2]
            for table in self._below[at]
            if self.truth.may(who, each, table)
        }
        self._judged(kind, _sorted(said), sorted(expected), (who, at))

    def _list_cdap(self, kind: str) -> None:
        who, at = self.draw.choice(self.users), self.draw.choice(self.estate.places)
        path = f"/r/cdap/v3/namespaces/{at.name}/data/datasets"
        status, text, took = self._ask.ask("GET", path, None, who.name)
        self.tally.took(kind, took)
        gate, each = LISTED["cdap"]
        if not self.truth.may(who, gate, at):
            self._judged(kind, status, 403, (who, at))
            return
        said = {row["name"] for row in json.loads(text)} if status == 200 else status
        expected = {
            dataset.name.rpartition(".")[2]
            for dataset in self._below[at]
            if self.truth.may(who, each, dataset)
        }
        self._judged(kind, _sorted(said), sorted(expected), (who, at))

    def _list_datahub(self, kind: str) -> None:
        """A full text search for a word in names: every twentieth dataset has the word."""
        who, word = self.draw.choice(self.users), self.draw.choice(WORDS)
        body = {"query": SEARCH, "variables": {"query": word}}
        user = who.name.rpartition(":")[2]
        answer = self._sent(kind, "POST", "/r/datahub/api/graphql", body, user)
        if "errors" in answer:
            raise Refused(json.dumps(answer["errors"]))
        found = answer["data"]["searchAcrossEntities"]
        said = {row["entity"]["urn"] for row in found["searchResults"]}
        expected = {
            dataset.name
            for dataset in self.estate.leaves
            if f".{word}_" in dataset.name and self.truth.may(who, LISTED["datahub"][1], dataset)
        }
        same = found["total"] == len(expected) and said <= expected
        whole = len(said) == min(200, len(expected))
        self._judged(kind, (same, whole), (True, True), (who, word, found["total"]))

    # --- writes ---

    def _privileges(self) -> tuple[str, ...]:
        return {
            "gravitino": ("SELECT_TABLE",),
            "datahub": ("VIEW_ENTITY_PAGE",),
            "cdap": (self.draw.choice(("READ", "WRITE", "ADMIN")),),
        }[self.estate.realm]

    def _grant(self, kind: str) -> None:
        getattr(self, f"_grant_{self.estate.realm}")(kind)

    def _grant_gravitino(self, kind: str) -> None:
        """Grants or revokes a role's privilege on a table, or a user's role."""
        role = Principal(ROLE, f"lk:r{self.draw.randrange(20, 40):03}")
        short = role.name.partition(":")[2]
        base = "/r/gravitino/api/metalakes/lk/permissions"
        if self.draw.random() < 0.3:
            user = self.draw.choice(self.moving)
            row = MembershipRow(user, role)
            is_in = not self.truth.joined(row)
            verb = "grant" if is_in else "revoke"
            self._stored(kind, "PUT", f"{base}/users/{user.name}/{verb}", {"roleNames": [short]})
            self.truth.join(row, is_in=is_in)
            return
        on = self.draw.choice(self.hot[:15])
        id = f"{role.name} reads {on.name}"
        verb = "revoke" if self.truth.holds(id) else "grant"
        path = f"{base}/roles/{short}/table/{on.name.partition(':')[2]}/{verb}"
        body = {"privileges": [{"name": "MODIFY_TABLE", "condition": "ALLOW"}]}
        self._stored(kind, "PUT", path, body)
        if verb == "grant":
            self.truth.put(id, allow(id, On(on), role, "MODIFY_TABLE"))
        else:
            self.truth.drop(id)

    def _grant_cdap(self, kind: str) -> None:
        who, on = self.draw.choice(self.moving[:20]), self.draw.choice(self.hot[:10])
        id = f"{who.name} executes {on.name}"
        verb = "revoke" if self.truth.holds(id) else "grant"
        body = {
            "authorizable": cdap.to_authorizable(on),
            "principal": {"name": who.name, "type": "USER"},
            "actions": ["EXECUTE"],
        }
        self._stored(kind, "POST", f"/r/cdap/v3/security/authorization/privileges/{verb}", body)
        if verb == "grant":
            self.truth.put(id, allow(id, On(on), who, "EXECUTE"))
        else:
            self.truth.drop(id)

    def _make_policies(self) -> None:
        """Creates ten policies, each for one group, without domains so far."""
        for number in range(10, 20):
            body = {"query": CREATE, "variables": {"input": self._policy(number, [])}}
            answer = self._stored("datahub.grant", "POST", "/r/datahub/api/graphql", body)
            self._policies.append(answer["data"]["createPolicy"])

    def _policy(self, number: int, domains: list[str]) -> dict[str, Any]:
        criterion = {"field": "DOMAIN", "values": domains or ["none"], "condition": "EQUALS"}
        return {
            "type": "METADATA",
            "name": f"moving {number}",
            "state": "ACTIVE",
            "description": "changes during the soak",
            "privileges": ["VIEW_ENTITY_PAGE"],
            "resources": {"filter": {"criteria": [criterion]}},
            "actors": {
                "resourceOwners": False,
                "allUsers": False,
                "allGroups": False,
                "groups": [f"urn:li:corpGroup:dcrew{number:03}"],
            },
        }

    def _grant_datahub(self, kind: str) -> None:
        at = self.draw.randrange(len(self._policies))
        domains = sorted(each.name for each in self.draw.sample(self.estate.places, 2))
        input = self._policy(10 + at, domains)
        body = {"query": UPDATE, "variables": {"urn": self._policies[at], "input": input}}
        answer = self._stored(kind, "POST", "/r/datahub/api/graphql", body)
        if "errors" in answer:
            raise Refused(json.dumps(answer["errors"]))
        where = Where((Criterion("DOMAIN", Condition.EQUALS, tuple(domains)),))
        to = Principal(GROUP, f"urn:li:corpGroup:dcrew{10 + at:03}")
        self.truth.put(self._policies[at], allow("", where, to, "VIEW_ENTITY_PAGE"))

    def _statement(self, kind: str) -> None:
        """Replaces or removes a statement."""
        id = f"soak-{self.draw.randrange(20)}"
        path = f"/api/v1/realms/{self.estate.realm}/statements/{id}"
        if self.truth.holds(id) and self.draw.random() < 0.5:
            self._stored(kind, "DELETE", path)
            self.truth.drop(id)
            return
        statement = self._drawn(id)
        self._stored(kind, "PUT", path, self._written(statement))
        self.truth.put(id, statement)

    def _import(self, kind: str) -> None:
        """Plans and applies a policy document of several statements."""
        statements = [self._drawn(f"policy-{number}") for number in range(IMPORTED)]
        policy = {"statement": [{"id": s.id, **self._written(s)} for s in statements]}
        base = f"/api/v1/realms/{self.estate.realm}"
        files = {"files": [{"name": "soak.toml", "policy": policy}], "keeper": "soak"}
        while True:
            plan = self._stored(f"{kind}_plan", "POST", f"{base}/plan", files)
            if not plan["pending"]:
                break
            body = {**files, "revision": plan["revision"], "digest": plan["digest"]}
            try:
                self._sent(kind, "POST", f"{base}/apply", body)
                break
            except Uncertain as error:
                self.tally.failed(kind, str(error))
        for statement in statements:
            self.truth.put(statement.id, statement)

    def _drawn(self, id: str) -> Any:
        on, to = self.draw.choice(self.hot), self.draw.choice(self.moving)
        return allow(id, On(on), to, *self._privileges())

    def _written(self, statement: Any) -> dict[str, Any]:
        on = statement.scope.entity
        (to,) = statement.principals
        return {
            "effect": statement.effect.value,
            "privileges": sorted(statement.privileges),
            "to": [f"{USER}:{to.name}"],
            "on": f"{on.type}:{on.name}",
        }

    def _judged(self, kind: str, said: Any, expected: Any, about: Any) -> None:
        """Compares an answer; an answer that is marked as possibly stale is only counted."""
        if self._ask.was_stale:
            self.tally.counted(kind, "stale")
        else:
            self.tally.judged(kind, said, expected, about)

    # --- requests ---

    def _access(self, what: str) -> str:
        return f"/r/{self.estate.realm}/access/v1/{what}"

    def _sent(self, kind: str, method: str, path: str, body: Any = None, user: str = ADMIN) -> Any:
        return self._read(kind, *self._ask.ask(method, path, body, user))

    def _stored(self, kind: str, method: str, path: str, body: Any = None) -> Any:
        """The response to an idempotent write; retries until the write is certain."""
        for _ in range(TRIES):
            try:
                return self._sent(kind, method, path, body)
            except (Refused, OSError, http.client.HTTPException) as error:
                self.tally.failed(kind, repr(error))
                if not isinstance(error, Uncertain | OSError | http.client.HTTPException):
                    raise Given from error
                time.sleep(1)
        raise SystemExit(f"{kind} was not answered {TRIES} times")

    def _read(self, kind: str, status: int, text: bytes, took: float) -> Any:
        if status >= 300:
            raise (Uncertain if status >= 500 else Refused)(f"{status}: {text[:300]!r}")
        self.tally.took(kind, took)
        return json.loads(text) if text else None


def _sorted(said: set[str] | int) -> Any:
    return said if isinstance(said, int) else sorted(said)
