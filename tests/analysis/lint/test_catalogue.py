"""Every rule is declared, shown by two examples, tested and documented."""

from __future__ import annotations

import re
from importlib import import_module
from pathlib import Path

import pytest

from lakewarden.analysis.lint import rules
from lakewarden.analysis.lint.catalogue import RULES, chosen, rule
from lakewarden.analysis.lint.finding import Rule
from lakewarden.kernel.errors import Unknown
from tests.analysis.lint.pages import DOCS, GUIDE, page_names, page_text
from tests.analysis.lint.worlds import EXAMPLES, found

HERE = Path(__file__).parent
PAGES = page_names()
TOPICS = sorted(Path(rules.__path__[0]).glob("*.py"))


def module(id: str) -> str:
    return id.replace("-", "_")


def test_every_rule_is_found_in_the_one_module_that_declares_it() -> None:
    declared = [
        name
        for path in TOPICS
        for name, value in vars(import_module(f"{rules.__name__}.{path.stem}")).items()
        if isinstance(value, Rule) and module(value.id) == name
    ]
    assert sorted(declared) == [module(id) for id in RULES]
    written = re.findall(r"^@rule\(", "".join(path.read_text() for path in TOPICS), re.MULTILINE)
    assert len(written) == len(RULES)


def test_rules_stand_in_order() -> None:
    assert list(RULES) == sorted(RULES)


@pytest.mark.parametrize("id", RULES)
def test_a_rule_finds_something_in_its_first_example(id: str) -> None:
    assert found(id, "violating")


@pytest.mark.parametrize("id", RULES)
def test_a_rule_finds_nothing_in_its_second_example(id: str) -> None:
    assert found(id, "clean") == []


@pytest.mark.parametrize("id", RULES)
def test_a_rule_has_a_test_of_its_own(id: str) -> None:
    assert (HERE / f"test_{module(id)}.py").is_file()


@pytest.mark.parametrize("name", PAGES)
def test_the_page_is_what_the_rules_say(name: str) -> None:
    assert (DOCS / name).read_text("utf-8") == page_text(name)


def test_there_is_no_other_page_and_no_other_example() -> None:
    assert {path.name for path in DOCS.glob("*.md")} == set(PAGES)
    assert {path.name for path in EXAMPLES.iterdir()} == RULES.keys()


def test_what_the_guide_advises_names_rules_that_are_there() -> None:
    for _, advice in GUIDE:
        for text, ids, none in advice:
            assert set(ids.split()) <= RULES.keys(), text
            assert bool(ids) != bool(none), text


@pytest.mark.parametrize("id", RULES)
def test_the_words_of_a_rule_are_written_as_the_others(id: str) -> None:
    one = rule(id)
    assert not one.title.endswith(".")
    for text in (one.why, one.mend, *filter(None, [one.misses])):
        assert text.endswith(".")
        assert re.match(r"[A-Z`]", text), text


def test_findings_are_written_in_small_letters_without_a_full_stop() -> None:
    for id in RULES:
        for one in found(id, "violating"):
            assert not one.says.endswith("."), id
            assert one.says[:1] in "`0123456789" or one.says[:1].islower(), id


def test_rules_are_chosen_and_left_out_by_their_ids() -> None:
    assert [one.id for one in chosen(["may-grant", "idle-deny"], [])] == ["idle-deny", "may-grant"]
    assert len(chosen([], ["may-grant"])) == len(RULES) - 1
    assert chosen(["may-grant"], ["may-grant"]) == ()


def test_a_rule_that_is_not_there_is_told_with_one_that_is() -> None:
    with pytest.raises(Unknown, match="did you mean `may-grant`"):
        rule("may-grants")
    with pytest.raises(Unknown, match="--list-rules"):
        rule("xyzzy")
