"""Compares a rival's answers with the truth: its figures count only if they agree.

If answers are wrong, the number of wrong answers replaces the figures. A list that lacks tables
keeps its time, because the number of tables found within that time is the result.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from bench.rivals.world import Truth

NONE: Final = "-"
"""Represents the answer to a question that ended with an error."""


def compared(measured: Mapping[str, Any], truth: Truth, list_seconds: float) -> dict[str, Any]:
    """The figures of a rival, by kind of question; `list_seconds` was the time limit of a list."""
    found: dict[str, Any] = {"load_s": measured["load_s"], "peak_mib": measured["peak_mib"]}
    for kind in ("single", "batch"):
        if measured.get(kind):
            found[kind] = passed(measured[kind], truth)
    if measured.get("rates"):
        rates = measured["rates"]
        found["rates"] = {str(each["connections"]): passed(each, truth) for each in rates}
    if measured.get("lists"):
        found["lists"] = [listed(each, truth, list_seconds) for each in measured["lists"]]
    return found


def passed(given: Mapping[str, Any], truth: Truth) -> dict[str, Any]:
    """The figures of one run of questions: time per question, and questions per second."""
    right = truth.answers
    answers = {
        given["from"] + at: answer for at, answer in enumerate(given["answers"]) if answer != NONE
    }
    wrong = sum(answer != right[at % len(right)] for at, answer in answers.items())
    counted: dict[str, Any] = {"n": len(answers), "wrong": wrong}
    if given.get("error"):
        counted["error"] = given["error"][:200]
    if wrong or not answers:
        return counted
    each = 1e6 / len(answers)
    return {
        **counted,
        "per_s": len(answers) / given["seconds"],
        "cpu_us": given["cpu_s"] * each,
        "store_cpu_us": given["store_cpu_s"] * each,
        **{key: given[key] for key in ("p50_us", "p99_us", "size", "first_us") if given.get(key)},
    }


def listed(given: Mapping[str, Any], truth: Truth, list_seconds: float) -> dict[str, Any]:
    """The result of a list: tables found, tables expected, and tables found wrongly.

    `stopped_by_clock`: on a busy machine, the bench ended the list before it had its CPU time.
    Then the tables found say nothing about the rival.
    """
    right, tables = truth.tables[given["user"]], given["tables"] or []
    found = set(tables)
    wrong = len(found - right) + len(tables) - len(found)
    counted = {
        "user": given["user"],
        "tables": len(right),
        "found": len(found & right),
        "wrong": wrong,
        "told_complete": given["complete"],
    }
    if given.get("error"):
        counted["error"] = given["error"][:200]
    if wrong:
        return counted
    if not given["complete"] and given["cpu_s"] + given["store_cpu_s"] < list_seconds:
        counted["stopped_by_clock"] = True
    times = {key: given[key] for key in ("seconds", "cpu_s", "store_cpu_s")}
    return {**counted, **times, **({"set_s": given["set_s"]} if "set_s" in given else {})}


def wrong_answers(figures: Mapping[str, Any]) -> int:
    """The number of wrong answers of a rival, over all kinds of questions."""
    kinds = [figures.get("single"), figures.get("batch")]
    kinds += [*figures.get("rates", {}).values(), *figures.get("lists", ())]
    return sum(each["wrong"] for each in kinds if each)
