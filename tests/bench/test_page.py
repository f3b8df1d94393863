"""The performance page shows the committed results, all of them."""

from __future__ import annotations

import json

from bench import page
from bench.result import LAST


def test_the_page_shows_the_committed_results() -> None:
    assert page.main(["--check"]) == 0, "run `python -m bench.page`"


def test_a_changed_result_changes_the_page_only_between_its_marks() -> None:
    text = page.PAGE.read_text()
    head, _, tail = text.partition(page.START)
    emptied = f"{head}{page.START}\n{page.END}{tail.partition(page.END)[2]}"
    assert page.written(emptied) == page.written(text)


def test_every_target_of_the_result_is_on_the_page() -> None:
    result = json.loads((LAST / "w.json").read_text())
    text = page.PAGE.read_text()
    assert all(f"| {id} | {each['title']} |" in text for id, each in result["targets"].items())
