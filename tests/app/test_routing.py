from lakewarden.app.dialects import all_dialects
from lakewarden.app.routing import NoRoute, RouteMatch, Table, top_realm
from lakewarden.http.exchange import OWN_MODELS, Route
from lakewarden.service.realm import CONTROL, Realm
from lakewarden.service.state import People, RealmState, State
from lakewarden.service.system import load_system
from tests.app.stub import Stub


def _state(**realms: str) -> State:
    made = {}
    for name, model in realms.items():
        system = load_system(model)
        realm = Realm(name, model)
        made[name] = RealmState(realm, system, None, People())  # type: ignore[arg-type]
    return State(realms=made)


def test_at_the_top_is_the_realm_that_bears_the_dialect_s_name() -> None:
    state = _state(aaa="gravitino", gravitino="gravitino")
    assert top_realm(Stub(), state) == "gravitino"


def test_else_the_first_realm_by_name_that_it_speaks_for() -> None:
    assert top_realm(Stub(), _state(b="gravitino", a="gravitino", gravitino="cdap")) == "a"
    assert top_realm(Stub(), _state(gravitino="cdap")) is None


def test_a_dialect_for_all_realms_has_the_control_realm_at_the_top() -> None:
    for dialect in all_dialects():
        if not dialect.models:
            assert top_realm(dialect, _state()) == CONTROL


def test_the_dialect_of_a_broken_path_is_the_one_that_agrees_longest() -> None:
    table = Table(all_dialects())

    def name(path: str) -> str | None:
        dialect = table.closest_dialect(path)
        return None if dialect is None else dialect.name

    assert name("/api/metalakes/a%2Fb") == "gravitino"
    assert name("/api/v1/realms/..") == "admin"
    assert name("/access/v1/x;y") == "authzen"
    assert name("/r/anything/access/v1//") == "authzen"
    assert name("//api/metalakes") == "gravitino"
    assert name("/nowhere") is None
    assert name("/") is None


def test_a_segment_never_becomes_two() -> None:
    table, state = Table([Stub()]), _state(gravitino="gravitino")
    found = table.find("GET", ("stub", "things", "a/b"), state)
    assert isinstance(found, RouteMatch)
    assert found.params == {"thing": "a/b"}
    assert isinstance(table.find("GET", ("stub", "things", "a", "b"), state), NoRoute)


def test_no_two_routes_of_the_server_have_the_same_method_and_path() -> None:
    seen: dict[tuple[str, tuple[str | None, ...]], Route] = {}
    for pattern in Table(all_dialects()).patterns:
        key = (pattern.route.method, (*pattern.literals, pattern.rest and "*"))
        assert key not in seen, pattern.route.path
        seen[key] = pattern.route


def test_every_route_has_an_operation_or_says_why_not() -> None:
    for pattern in Table(all_dialects()).patterns:
        route = pattern.route
        assert bool(route.operation) != bool(route.why), f"{route.method} {route.path}"


def test_every_operation_of_a_route_is_declared() -> None:
    own = {
        name: set(load_system(name).model.operations)
        for name in ("gravitino", "datahub", "cdap", "cdap_parent_write", "control")
    }
    for pattern in Table(all_dialects()).patterns:
        if pattern.route.operation:
            shipped = (name for name in pattern.dialect.models if name != OWN_MODELS)
            known = set[str]().union(*(own[name] for name in shipped))
            place = f"{pattern.route.method} {pattern.route.path}"
            assert pattern.route.operation in known | own["control"], place
