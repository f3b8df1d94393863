"""A list needs as many reads and checks as one entity, however many it shows."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from lakewarden.kernel.change import AttributeChanged, EntityMoved, OwnerChanged, RelationChanged
from lakewarden.kernel.entity import Entity
from lakewarden.kernel.matrix import Matrix
from lakewarden.kernel.principal import USER, Principal
from lakewarden.kernel.relations import OwnerRow, RelationRow
from lakewarden.service.actor import SYSTEM
from lakewarden.service.decision_service import DecisionService
from tests.systems.datahub.http.graphql.pages.test_kinds import NO_EDGES, put
from tests.systems.datahub.http.graphql.pages.world import LEVEL, ORDERS, PII, SALES, SCHEMA
from tests.systems.datahub.http.graphql.wire import REALM, Wire, document, user

_PRIVILEGES = document("privileges")
PRIVILEGES = _PRIVILEGES[_PRIVILEGES.index("fragment") :]
MANY = f"""
query many($urns: [String!]!) {{
  entities(urns: $urns) {{
    ... on Dataset {{
      privileges {{
        ...of
      }}
      ownership {{
        owners {{
          owner {{
            ... on CorpUser {{
              properties {{
                email
              }}
              privileges {{
                canEditDescription
              }}
            }}
          }}
        }}
      }}
      tags {{
        tags {{
          tag {{
            properties {{
              name
            }}
          }}
        }}
      }}
      domain {{
        domain {{
          properties {{
            name
          }}
          parentDomains {{
            domains {{
              ... on Domain {{
                properties {{
                  name
                }}
              }}
            }}
          }}
        }}
      }}
    }}
  }}
}}

{PRIVILEGES}
"""


class Counted:
    """The number of store reads, and of the kernel's checks of single entities."""

    def __init__(self) -> None:
        self.reads = 0
        self.decisions = 0


@pytest.fixture
def counted(monkeypatch: pytest.MonkeyPatch) -> Counted:
    found = Counted()
    reading, decide = DecisionService.reading, Matrix.decide

    @contextmanager
    def read(service: DecisionService) -> Iterator[Any]:
        found.reads += 1
        with reading(service) as one:
            yield one

    def ask(matrix: Matrix, request: Any) -> Any:
        found.decisions += 1
        return decide(matrix, request)

    monkeypatch.setattr(DecisionService, "reading", read)
    monkeypatch.setattr(Matrix, "decide", ask)
    return found


@pytest.fixture
def stocked(wire: Wire) -> Wire:
    return wire.built(_fill_realm)


def _fill_realm(wire: Wire) -> None:
    def task(transaction: Any) -> None:
        from lakewarden.systems.datahub.use_cases import aspects
        from lakewarden.systems.datahub.use_cases.aspects import Write

        for number in range(100):
            entity = Entity("dataset", urn(number))
            owner, tag = user(("ana", "bob", "cid")[number % 3]), f"urn:li:tag:t{number}"
            domain = f"urn:li:domain:d{number % 10}"
            label = Entity("tag", tag)
            place = Entity("domain", domain)
            top = Entity("domain", f"urn:li:domain:top{number % 4}")
            above = {"name": domain, "parentDomain": top.name}
            told = [
                Write(entity, "ownership", {"owners": [{"owner": owner, "type": "NONE"}]}),
                Write(entity, "globalTags", {"tags": [{"tag": tag}]}),
                Write(entity, "domains", {"domains": [domain]}),
                Write(label, "tagProperties", {"name": tag}),
                Write(top, "subTypes", {}),
                Write(place, "domainProperties", above),
            ]
            aspects.write(transaction, REALM, told, user("ana"))

    wire.service.write(SYSTEM, task)


def urn(number: int) -> str:
    return f"urn:li:dataset:(urn:li:dataPlatform:hive,t{number},PROD)"


@pytest.mark.parametrize("view", [False, True])
def test_a_hundred_entities_cost_as_much_as_two(
    stocked: Wire, counted: Counted, view: bool
) -> None:
    stocked.configure(view=view)
    costs = []
    for count in (2, 100):
        counted.reads = counted.decisions = 0
        found = stocked.good(MANY, "ana", urns=[urn(number) for number in range(count)])
        costs.append((counted.reads, counted.decisions))
        assert len(found) == count
    assert costs[0] == costs[1]
    reads, decisions = costs[0]
    assert reads <= 8
    assert decisions == 0


def test_each_of_many_has_privileges_of_its_own(stocked: Wire) -> None:
    found = stocked.good(MANY, "ana", urns=[urn(number) for number in range(6)])
    edits = [one["privileges"]["canEditDescription"] for one in found]
    assert edits == [True, False, False, True, False, False]
    owners = [one["ownership"]["owners"][0]["owner"] for one in found]
    assert [one["properties"]["email"] for one in owners[:3]] == ["ana@x", "bob@x", "cid@x"]
    # All users may edit themselves.
    assert [one["privileges"]["canEditDescription"] for one in owners[:3]] == [True, False, False]
    assert found[5]["tags"]["tags"][0]["tag"]["properties"]["name"] == "urn:li:tag:t5"
    above = found[5]["domain"]["domain"]["parentDomains"]["domains"]
    assert [one["properties"] for one in above] == [None]


def test_a_page_says_what_the_facts_say_whoever_stated_them(wire: Wire) -> None:
    put(wire, ORDERS, {"status": {"removed": False}})
    put(wire, SCHEMA, {"containerProperties": {"name": "shop"}})
    orders = Entity("dataset", ORDERS)
    owner = OwnerRow(orders, Principal(USER, user("ana")), "urn:li:ownershipType:x")
    told = (
        OwnerChanged(owner, True),
        RelationChanged(RelationRow("tag", orders, Entity("tag", PII)), True),
        RelationChanged(RelationRow("domain", orders, Entity("domain", SALES)), True),
        AttributeChanged(orders, LEVEL, ("high",)),
        AttributeChanged(orders, "status.removed", ("true",)),
        EntityMoved(orders, Entity("container", SCHEMA)),
    )
    wire.service.write(SYSTEM, lambda transaction: transaction.change(REALM, *told))
    page = wire.good(document("page_dataset"), urn=ORDERS, edges=NO_EDGES)
    (shown,) = page["ownership"]["owners"]
    assert (shown["owner"]["urn"], shown["type"]) == (user("ana"), "CUSTOM")
    assert shown["ownershipType"] == {"urn": "urn:li:ownershipType:x"}
    assert page["ownership"]["lastModified"] == {"time": 0}
    assert page["tags"] == {"tags": [{"associatedUrn": ORDERS}]}
    assert page["domain"]["domain"] == {"urn": SALES}
    assert page["container"] == {"urn": SCHEMA}
    assert page["status"] == {"removed": True}
    (level,) = page["structuredProperties"]["properties"]
    assert level["values"] == [{"stringValue": "high"}]


def test_a_page_after_a_change_in_the_same_document_is_the_new_one(wire: Wire) -> None:
    """Values read before a write in the document are read again after it."""
    query = (
        "mutation m($u: String!) {"
        " one: updateUserStatus(urn: $u, status: SUSPENDED)"
        " two: updateUserStatus(urn: $u, status: ACTIVE) }"
    )
    answer = wire.ask(query, u=user("ana"))
    assert answer["data"] == {"one": "SUSPENDED", "two": "ACTIVE"}
    status = "query q($u: String!) { corpUser(urn: $u) { status } }"
    assert wire.good(status, u=user("ana")) == {"status": "ACTIVE"}


def test_lists_within_lists_end_where_too_many_entities_were_shown(wire: Wire) -> None:
    """Siblings, their siblings, and the siblings of these: exponential in the levels."""
    urns = [urn(number) for number in range(12)]
    for one in urns:
        put(wire, one, {"siblings": {"siblings": [other for other in urns if other != one]}})
    inner = "urn"
    for _ in range(5):
        inner = f"urn ... on Dataset {{ siblings {{ siblings {{ {inner} }} }} }}"
    answer = wire.ask(f'{{ entity(urn: "{urns[0]}") {{ {inner} }} }}')
    assert {error["extensions"]["code"] for error in answer["errors"]} == {400}
