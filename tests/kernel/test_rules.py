"""Rule text to nodes: each form of the language, and the error for each kind of mistake."""

from __future__ import annotations

import ast

import pytest

from lakewarden.kernel.errors import BadInput
from lakewarden.kernel.expression import (
    And,
    Anyone,
    At,
    Compare,
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
from lakewarden.kernel.rules import Macro, Vocabulary, parse

WORDS = Vocabulary(
    privileges=frozenset({"READ", "WRITE", "ADMIN"}),
    types=frozenset({"lake", "table"}),
    relations=frozenset({"subjects"}),
    attributes=frozenset({"resource.status", "action.soft", "level"}),
    operations=frozenset({"table.load", "object.access"}),
    targets=frozenset({"artifact"}),
    lists=frozenset({"tags"}),
    macros={
        "LEAF": Macro(("x",), "owner(lake) or (READ and (x))"),
        "BOTH": Macro(("a", "b"), "a and b"),
        "OWNS": Macro((), "owner(self)"),
        "BROKEN": Macro((), "READ or NOWHERE"),
        "LOOP": Macro((), "READ or LOOP"),
        "THERE": Macro((), "BACK"),
        "BACK": Macro((), "THERE"),
        "READS": Macro(("READ",), "READ or WRITE"),
    },
)
READ, WRITE, ADMIN = Holds("READ"), Holds("WRITE"), Holds("ADMIN")


def parsed(text: str) -> Node:
    return parse(text, WORDS, "here")


@pytest.mark.parametrize(
    ("text", "node"),
    [
        ("anyone", Anyone()),
        ("nobody", Nobody()),
        ("self", IsSelf()),
        ("service_admin", ServiceAdmin()),
        ("READ", READ),
        ("owner(self)", Owner(("self",))),
        ("owner(lake, table)", Owner(("lake", "table"))),
        ("not denied(READ)", NotDenied("READ")),
        ("not (denied(READ))", NotDenied("READ")),
        ("READ @ parent", At("parent", READ)),
        ("READ @ platform", At("platform", READ)),
        ("READ @ type", At("type", READ)),
        ("READ @ lake", At("lake", READ)),
        ("READ @ artifact", At("request.artifact", READ)),
        ("(READ or WRITE) @ lake", At("lake", Or((READ, WRITE)))),
        ("READ @ table @ lake", At("lake", At("table", READ))),
        ("every(subjects, READ)", Every("subjects", READ)),
        ("every(request.tags, READ)", Every("request.tags", READ)),
        ("some(ancestors, READ or self)", Some("ancestors", Or((READ, IsSelf())))),
        ("may(table.load)", May("table.load")),
        ("may(object.access) @ lake", At("lake", May("object.access"))),
        ("action.soft", Compare("action.soft", "==", True)),
        ("resource.status == 'open'", Compare("resource.status", "==", "open")),
        ("resource.status != 'open'", Compare("resource.status", "!=", "open")),
        ("action.soft == False", Compare("action.soft", "==", False)),
        ("level == 3", Compare("level", "==", 3)),
        ("level != 0.5", Compare("level", "!=", 0.5)),
        ("level in [1, 2.5]", Compare("level", "in", (1, 2.5))),
        ("resource.status in ['a', 'b']", Compare("resource.status", "in", ("a", "b"))),
    ],
)
def test_each_form_of_the_language_has_its_node(text: str, node: Node) -> None:
    assert parsed(text) == node


def test_at_binds_tighter_than_and_and_and_tighter_than_or() -> None:
    assert parsed("READ and WRITE @ lake or ADMIN") == Or((And((READ, At("lake", WRITE))), ADMIN))


def test_a_chain_of_one_operator_is_one_node() -> None:
    assert parsed("READ and WRITE and ADMIN") == And((READ, WRITE, ADMIN))
    assert parsed("READ or WRITE or ADMIN") == Or((READ, WRITE, ADMIN))


def test_a_macro_stands_for_its_text_as_a_whole() -> None:
    assert parsed("OWNS and READ") == And((Owner(("self",)), READ))
    assert parsed("LEAF(WRITE or ADMIN)") == Or((Owner(("lake",)), And((READ, Or((WRITE, ADMIN))))))
    assert parsed("BOTH(READ or WRITE, OWNS)") == And((Or((READ, WRITE)), Owner(("self",))))


def test_the_argument_of_a_macro_is_read_where_it_stands() -> None:
    assert parsed("LEAF(LEAF(WRITE))") == Or(
        (Owner(("lake",)), And((READ, Or((Owner(("lake",)), And((READ, WRITE)))))))
    )


def test_inside_a_macro_its_parameter_hides_a_privilege_of_that_name() -> None:
    assert parsed("READS(ADMIN)") == Or((ADMIN, WRITE))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("READS", "here: column 1: macro `READS` takes 1 argument(s)"),
        ("READ or GAZE", "here: column 9: unknown privilege or word `GAZE`"),
        ("denied", "here: column 1: unknown privilege or word `denied`"),
        ("denied(READ)", "here: column 1: unknown form `denied` with 1 argument(s)"),
        ("not denied(GAZE)", "here: column 12: unknown privilege `GAZE`"),
        ("not denied(LEAF)", "here: column 12: unknown privilege `LEAF`"),
        ("not denied('READ')", "here: column 12: unknown privilege `'READ'`"),
        ("owner()", "here: column 1: unknown form `owner` with 0 argument(s)"),
        ("owner(column)", "here: column 7: unknown type `column`"),
        ("READ @ column", "here: column 8: unknown type or target `column`"),
        ("every(subjects)", "here: column 1: unknown form `every` with 1 argument(s)"),
        ("every(owners, READ)", "here: column 7: unknown relation or request list `owners`"),
        (
            "some(request.terms, READ)",
            "here: column 6: unknown relation or request list `request.terms`",
        ),
        ("some(tags, READ)", "here: column 6: unknown relation or request list `tags`"),
        ("may(table.lode)", "here: column 5: unknown operation `table.lode`"),
        ("may(table.load, READ)", "here: column 1: unknown form `may` with 2 argument(s)"),
        ("resource.stat", "here: column 1: unknown attribute `resource.stat`"),
        ("stat == 'a'", "here: column 1: unknown attribute `stat`"),
        ("level < 3", "here: column 9: expected `==` or `!=` a constant, or `in` a list"),
        ("level == READ", "here: column 10: expected `==` or `!=` a constant, or `in` a list"),
        ("level == None", "here: column 10: expected `==` or `!=` a constant, or `in` a list"),
        ("level in []", "here: column 10: expected `==` or `!=` a constant, or `in` a list"),
        ("level in [1, READ]", "here: column 14: expected a constant"),
        ("OWNS(READ)", "here: column 1: macro `OWNS` takes 0 argument(s)"),
        ("LEAF", "here: column 1: macro `LEAF` takes 1 argument(s)"),
        (
            "WRITE or BROKEN",
            "here: in macro `BROKEN`: column 9: unknown privilege or word `NOWHERE`",
        ),
        ("LOOP", "here: in macro `LOOP`: column 9: macro `LOOP` contains itself"),
        (
            "THERE",
            "here: in macro `THERE`: in macro `BACK`: column 1: macro `THERE` contains itself",
        ),
        ("LEAF(NOWHERE)", "here: column 6: unknown privilege or word `NOWHERE`"),
    ],
)
def test_a_mistake_is_told_with_its_place(text: str, message: str) -> None:
    with pytest.raises(BadInput) as refusal:
        parsed(text)
    assert str(refusal.value) == message


@pytest.mark.parametrize("failures", [1, 2, 3])
def test_a_tree_that_another_thread_disturbed_is_built_again(
    failures: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    build, left = ast.parse, [failures]

    def disturbed(text: str, mode: str) -> ast.AST:
        if left[0]:
            left[0] -= 1
            raise SystemError("AST constructor recursion depth mismatch (before=180, after=36)")
        return build(text, mode=mode)

    monkeypatch.setattr(ast, "parse", disturbed)
    if failures == 3:
        with pytest.raises(SystemError):
            parse("anyone", WORDS, "rule")
    else:
        assert parse("anyone", WORDS, "rule") == Anyone()


@pytest.mark.parametrize("text", ["", "READ and", "READ\0", "READ WRITE", "(" * 5000])
def test_what_is_no_expression_is_told_with_a_column(text: str) -> None:
    with pytest.raises(BadInput, match=r"^here: column [1-9][0-9]*: not an expression$"):
        parsed(text)


@pytest.mark.parametrize(
    "text",
    [
        "not READ",
        "not self",
        "not denied(READ, WRITE)",
        "not denied(READ, also=WRITE)",
        "not denied(READ) @ lake",
        "owner(self, also=lake)",
        "lambda: READ",
        "READ if self else WRITE",
        "READ + WRITE",
        "-READ",
        "'READ'",
        "True",
        "[READ]",
        "1 < level < 3",
        "table.load(READ)",
        "(READ := WRITE)",
    ],
)
def test_nothing_else_of_python_is_an_expression_here(text: str) -> None:
    with pytest.raises(BadInput, match="expected a privilege, a condition, `and`, `or` or `@`"):
        parsed(text)


def test_what_lies_directly_inside_a_node() -> None:
    assert children(And((READ, WRITE))) == (READ, WRITE)
    assert children(Or((READ, WRITE))) == (READ, WRITE)
    for node in (At("lake", READ), Every("subjects", READ), Some("subjects", READ)):
        assert children(node) == (READ,)
    for leaf in (READ, May("table.load"), Owner(("self",)), NotDenied("READ"), Anyone()):
        assert children(leaf) == ()
