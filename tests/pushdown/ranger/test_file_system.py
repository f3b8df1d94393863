"""An HDFS service pushed to a Ranger admin: its paths, their drift, and errors."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from lakewarden.kernel.entity import Entity
from lakewarden.kernel.errors import BadInput
from lakewarden.kernel.matrix import Matrix
from lakewarden.kernel.principal import members_of
from lakewarden.kernel.relations import EntityRow, Facts, MembershipRow
from lakewarden.kernel.snapshot import compile
from lakewarden.kernel.statement_file import read_statements
from lakewarden.pushdown.grants import Grant
from lakewarden.pushdown.ranger.address import read_address
from lakewarden.pushdown.ranger.marks import Marks
from lakewarden.pushdown.ranger.state import held, holders
from lakewarden.service.realm import Realm
from lakewarden.service.state import People, RealmState
from lakewarden.service.system import load_system
from lakewarden.testing.world_draft import NOW
from tests.pushdown.estate import STORE
from tests.pushdown.ranger.admin_server import Ranger, serving
from tests.pushdown.ranger.worlds import Told, ranger_of, told

SETTINGS = {"hdfs": "on"}
PLACES = {
    "lk:fs.raw.a": "hdfs://nn:8020/lake/a",
    "lk:fs.raw.b": "hdfs://nn:8020/lake/a/b",
    "lk:fs.raw.far": "hdfs://elsewhere:8020/lake/far",
    "lk:other.raw.c": "/lake/c",
}
LOCATED = [(Entity("fileset", name), [place]) for name, place in PLACES.items()]
READ = ("USE_CATALOG", "USE_SCHEMA", "READ_FILESET")


def realm_of(**readers: str) -> RealmState:
    """Filesets of two catalogs; each user named here may read everything in one place."""
    system = load_system("gravitino", SETTINGS)
    entities = [Entity("metalake", "lk")]
    for catalog in ("fs", "other"):
        entities += [Entity("catalog", f"lk:{catalog}"), Entity("schema", f"lk:{catalog}.raw")]
    entities += [one for one, _ in LOCATED]
    users = {name: system.principal(name) for name in ("ana", "bo", "eve")}
    given = [
        {"id": name, "privileges": [*READ], "on": on, "to": [f"user:{name}"]}
        for name, on in readers.items()
    ]
    facts = Facts(
        entities=[EntityRow(one, system.spelling.parent(one)) for one in entities],
        principals=[*users.values()],
        memberships=[MembershipRow(one, members_of("lk")) for one in users.values()],
        statements=read_statements(given, system.model, system.spelling, "statements"),
    )
    matrix = Matrix(compile(facts, system.model, system.spelling, now=NOW))
    return RealmState(Realm("lake", "gravitino", settings=SETTINGS), system, matrix, People())


@pytest.fixture(name="ranger")
def _ranger() -> Iterator[Ranger]:
    with serving(ranger_of("hdfs")) as ranger:
        yield ranger


def of_files(ranger: Ranger, catalog: str = "", style: str = "") -> Told:
    one = told(ranger, "lk", catalog, style)
    one.located, one.file_system = LOCATED, "hdfs://nn:8020"
    return one


def readers(ranger: Ranger, *, styled: bool = False) -> dict[str, set[str]]:
    """The readers of paths, by our policies."""
    marks, policies = Marks("rg", STORE), ranger.policies.values()
    now = held(marks, {}, policies, ranger.roles.values(), styled=styled)
    return {
        grant.path[0]: {*who}
        for grant, who in holders(now).items()
        if grant.privilege == "read" and who
    }


EVERYTHING = {"ana": "metalake:lk"}


def test_a_metalake_is_told_with_all_its_catalogs(ranger: Ranger) -> None:
    one, realm = of_files(ranger), realm_of(**EVERYTHING)
    one.push(realm)
    assert readers(ranger) == {path: {"ana"} for path in ("/lake/a", "/lake/a/b", "/lake/c")}
    assert all(each["resources"]["path"]["isRecursive"] for each in ranger.policies.values())
    assert one.push(realm) == 0


def test_a_catalog_is_told_alone(ranger: Ranger) -> None:
    of_files(ranger, "fs").push(realm_of(**EVERYTHING))
    assert readers(ranger) == {"/lake/a": {"ana"}, "/lake/a/b": {"ana"}}


def test_a_folder_with_files_of_another_catalog_is_for_nobody_by_it(ranger: Ranger) -> None:
    one = of_files(ranger, "fs")
    one.located = [*LOCATED[:3], (LOCATED[3][0], ["/lake/a/c"])]
    one.push(realm_of(**EVERYTHING))
    assert readers(ranger) == {"/lake/a/b": {"ana"}}
    left = {each.entity for each in one.plan(realm_of(**EVERYTHING)).residues if each.entity}
    assert "fileset:lk:fs.raw.a" in left


def test_files_that_moved_are_told_anew(ranger: Ranger) -> None:
    one, realm = of_files(ranger), realm_of(**EVERYTHING, bo="catalog:lk:other")
    one.push(realm)
    one.located = [*LOCATED[:3], (LOCATED[3][0], ["/lake/d"])]
    assert one.plan(realm).is_pending
    one.push(realm)
    assert readers(ranger)["/lake/d"] == {"ana", "bo"}
    assert "/lake/c" not in readers(ranger)


def test_the_plug_ins_form_has_the_names_of_paths(ranger: Ranger) -> None:
    one = of_files(ranger, "fs", "gravitino")
    one.push(realm_of(**EVERYTHING))
    assert {each["name"] for each in ranger.policies.values()} == {"/lake/a", "/lake/a/b"}
    assert readers(ranger, styled=True) == {"/lake/a": {"ana"}, "/lake/a/b": {"ana"}}
    one.reset()
    assert not ranger.policies
    assert not ranger.roles


@pytest.mark.parametrize(
    ("path", "denied"),
    [
        ("/lake/a", ("bo", "eve")),
        ("/lake/a/b/below", ("bo", "eve")),
        ("/lake/c/*", ("eve",)),
        ("/lake", ("ana", "bo", "eve")),
        ("/*", ("bo", "eve")),
    ],
)
def test_drift_knows_that_a_folder_is_all_that_lies_below(
    path: str, denied: tuple[str, ...], ranger: Ranger
) -> None:
    one, realm = of_files(ranger), realm_of(**EVERYTHING, bo="catalog:lk:other")
    one.push(realm)
    item = {"accesses": [{"type": "read", "isAllowed": True}], "groups": ["public"], "users": []}
    ranger.put_policy(
        {
            "service": "svc",
            "name": "by hand",
            "policyType": 0,
            "resources": {"path": {"values": [path], "isRecursive": path != "/lake/a"}},
            "policyItems": [{**item, "roles": [], "conditions": [], "delegateAdmin": False}],
        }
    )
    (found,) = one.drift(realm).foreign
    assert found.grant == Grant((path,), "read")
    assert found.denied == denied


def test_what_ranger_cannot_keep_to_is_refused(ranger: Ranger) -> None:
    one, realm = of_files(ranger), realm_of()
    one.file_system = ""
    with pytest.raises(BadInput, match="needs `\\?file_system=hdfs://HOST:PORT`"):
        one.plan(realm)
    one.file_system = "hdfs://nn:8020"
    ranger.definition["resources"][0]["recursiveSupported"] = False
    with pytest.raises(BadInput, match="does not support folders; set `recursiveSupported`"):
        one.plan(realm)
    with one.session() as session:
        assert "recursiveSupported" in session.missing_rights(realm)[0]


def test_the_file_system_is_an_option_of_the_address() -> None:
    encoded = "file_system=hdfs%3A%2F%2Fnn%3A8020%2F&rate=20"
    for options in (encoded, "rate=20&file_system=hdfs://nn:8020/user"):
        found = read_address(f"ranger+https://ops:pw@ranger.example/files?{options}")
        assert (found.file_system, found.rate) == ("hdfs://nn:8020", 20.0)
