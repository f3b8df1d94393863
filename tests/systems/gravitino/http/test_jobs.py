"""Job templates and jobs: their stored parts, the permissions, and that nothing is run."""

from __future__ import annotations

from tests.systems.gravitino.http.court import (
    FORBIDDEN,
    ILLEGAL,
    ML,
    RUNS,
    TEMPLATES,
    absent,
    allow,
    hold,
    on,
)
from tests.systems.gravitino.http.wire import Json, Wire

SHELL: Json = {
    "jobType": "SHELL",
    "name": "compact",
    "comment": "c",
    "executable": "/bin/compact.sh",
    "arguments": ["{{table}}"],
    "environments": {"A": "1"},
    "customFields": {"team": "x"},
    "scripts": ["/bin/lib.sh"],
}
SPARK: Json = {
    "jobType": "spark",
    "name": "marts",
    "executable": "marts.jar",
    "className": "org.marts.Main",
    "jars": ["a.jar"],
    "configs": {"spark.x": "1"},
}


def register(court: Wire, template: Json, user: str = "boss") -> None:
    assert court.good("POST", TEMPLATES, {"jobTemplate": template}, user=user) == {"code": 0}


def run(court: Wire, user: str = "boss", name: str = "compact") -> Json:
    body = {"jobTemplateName": name, "jobConf": {"table": "c.s.t"}}
    job: Json = court.good("POST", RUNS, body, user=user)["job"]
    return job


def test_templates_are_shown_as_they_were_registered(court: Wire) -> None:
    register(court, SHELL)
    register(court, SPARK)
    shell = court.good("GET", f"{TEMPLATES}/compact", user="boss")["jobTemplate"]
    assert shell.pop("audit")["creator"] == "boss"
    assert shell == {**SHELL, "jobType": "shell"}
    assert court.good("GET", f"{TEMPLATES}/", user="boss")["names"] == ["compact", "marts"]
    details = court.good("GET", f"{TEMPLATES}?details=true", user="boss")["jobTemplates"]
    spark = details[1]
    assert spark.pop("audit")
    assert spark == SPARK


def test_bad_templates_are_refused(court: Wire) -> None:
    register(court, SHELL)
    exists = (409, 1004, "JobTemplateAlreadyExistsException")
    assert court.bad("POST", TEMPLATES, {"jobTemplate": SHELL}, user="boss") == exists
    wrong: Json
    for wrong in (
        {},
        {"jobTemplate": {}},
        {"jobTemplate": {**SHELL, "name": "x", "jobType": "python"}},
        {"jobTemplate": {**SHELL, "name": "x", "executable": " "}},
        {"jobTemplate": {**SHELL, "name": "x", "arguments": "no list"}},
        {"jobTemplate": {**SHELL, "name": 1}},
        {"jobTemplate": {**SHELL, "name": ""}},
    ):
        assert court.bad("POST", TEMPLATES, wrong, user="boss") == ILLEGAL


def test_a_template_is_altered_part_by_part(court: Wire) -> None:
    register(court, SHELL)
    updates: Json = {
        "updates": [
            {"@type": "rename", "newName": "squeeze"},
            {"@type": "updateComment", "newComment": "new"},
            {
                "@type": "updateTemplate",
                "newTemplate": {
                    "@type": "SHELL",
                    "newExecutable": "/bin/squeeze.sh",
                    "newScripts": None,
                    "newArguments": [],
                },
            },
        ]
    }
    altered = court.good("PUT", f"{TEMPLATES}/compact", updates, user="boss")["jobTemplate"]
    assert (altered["name"], altered["comment"]) == ("squeeze", "new")
    assert altered["executable"] == "/bin/squeeze.sh"
    assert (altered["scripts"], altered["arguments"]) == (["/bin/lib.sh"], [])
    assert court.good("GET", f"{TEMPLATES}/squeeze", user="boss")["jobTemplate"] == altered
    spark = {"@type": "updateTemplate", "newTemplate": {"@type": "spark"}}
    assert court.bad("PUT", f"{TEMPLATES}/squeeze", {"updates": [spark]}, user="boss") == ILLEGAL
    gone = absent("JobTemplate")
    assert court.bad("PUT", f"{TEMPLATES}/compact", updates, user="boss") == gone


def test_a_job_is_recorded_as_queued_and_stays_so(court: Wire) -> None:
    register(court, SHELL)
    job = run(court)
    assert job["jobTemplateName"] == "compact"
    assert job["status"] == "queued"
    assert job["audit"]["creator"] == "boss"
    assert court.good("GET", f"{RUNS}/{job['jobId']}", user="boss")["job"] == job
    other = run(court)
    assert other["jobId"] != job["jobId"]
    jobs = court.good("GET", f"{RUNS}/", user="boss")["jobs"]
    assert sorted(one["jobId"] for one in jobs) == sorted([job["jobId"], other["jobId"]])
    owner = court.good("GET", f"{ML}/owners/job/{job['jobId']}", user="boss")["owner"]
    assert owner == {"name": "boss", "type": "user"}


def test_a_job_needs_its_template(court: Wire) -> None:
    assert court.bad("POST", RUNS, {}, user="boss") == ILLEGAL
    unknown = {"jobTemplateName": "gone"}
    assert court.bad("POST", RUNS, unknown, user="boss") == absent("JobTemplate")
    assert court.bad("POST", RUNS, unknown, user="ana") == FORBIDDEN


def test_running_takes_run_job_and_the_use_of_the_template(court: Wire) -> None:
    register(court, SHELL)
    register(court, SPARK)
    use = on("job_template", "compact", allow("USE_JOB_TEMPLATE"))
    hold(court, "bob", use)
    hold(court, "ana", use, on("metalake", "lk", allow("RUN_JOB")))
    body = {"jobTemplateName": "compact"}
    assert court.bad("POST", RUNS, body, user="bob") == FORBIDDEN
    job = run(court, user="ana")
    assert court.bad("POST", RUNS, {"jobTemplateName": "marts"}, user="ana") == FORBIDDEN
    assert court.good("GET", f"{RUNS}/{job['jobId']}", user="ana")
    assert court.bad("GET", f"{RUNS}/{job['jobId']}", user="bob") == FORBIDDEN
    assert court.bad("GET", f"{RUNS}/job-0", user="bob") == FORBIDDEN
    assert court.bad("GET", f"{RUNS}/job-0", user="boss") == absent("Job")
    run(court)
    mine = court.good("GET", RUNS, user="ana")["jobs"]
    assert [one["jobId"] for one in mine] == [job["jobId"]]


def test_templates_are_seen_by_owners_and_users_of_them(court: Wire) -> None:
    hold(court, "ana", on("metalake", "lk", allow("REGISTER_JOB_TEMPLATE")))
    register(court, SHELL, user="ana")
    register(court, SPARK)
    assert court.good("GET", TEMPLATES, user="ana")["names"] == ["compact"]
    hold(court, "bob", on("job_template", "marts", allow("USE_JOB_TEMPLATE")))
    assert court.good("GET", TEMPLATES, user="bob")["names"] == ["marts"]
    comment = {"updates": [{"@type": "updateComment", "newComment": "x"}]}
    assert court.good("PUT", f"{TEMPLATES}/compact", comment, user="ana")
    assert court.bad("PUT", f"{TEMPLATES}/marts", comment, user="bob") == FORBIDDEN
    assert court.bad("DELETE", f"{TEMPLATES}/marts", user="bob") == FORBIDDEN
    assert court.bad("GET", f"{TEMPLATES}/compact", user="bob") == FORBIDDEN
    assert court.bad("POST", TEMPLATES, {"jobTemplate": SHELL}, user="bob") == FORBIDDEN


def test_jobs_are_listed_by_template(court: Wire) -> None:
    register(court, SHELL)
    register(court, SPARK)
    job = run(court, name="marts")
    run(court)
    found = court.good("GET", f"{RUNS}?jobTemplateName=marts", user="boss")["jobs"]
    assert [one["jobId"] for one in found] == [job["jobId"]]
    assert court.bad("GET", f"{RUNS}?jobTemplateName=gone", user="boss") == absent("JobTemplate")
    hidden = court.bad("GET", f"{RUNS}?jobTemplateName=marts", user="ana")
    assert hidden == absent("JobTemplate")


def test_a_cancelled_job_stays_cancelled(court: Wire) -> None:
    register(court, SHELL)
    job = run(court)
    path = f"{RUNS}/{job['jobId']}"
    assert court.bad("POST", path, user="ana") == FORBIDDEN
    assert court.good("POST", path, user="boss")["job"]["status"] == "cancelled"
    assert court.good("POST", path, user="boss")["job"]["status"] == "cancelled"
    assert court.bad("POST", f"{RUNS}/job-0", user="boss") == absent("Job")


def test_a_template_with_unfinished_jobs_stays_and_later_goes_with_all_of_them(court: Wire) -> None:
    register(court, SHELL)
    job = run(court)
    in_use = (409, 1010, "InUseException")
    assert court.bad("DELETE", f"{TEMPLATES}/compact", user="boss") == in_use
    court.good("POST", f"{RUNS}/{job['jobId']}", user="boss")
    assert court.good("DELETE", f"{TEMPLATES}/compact", user="boss")["dropped"] is True
    assert court.good("DELETE", f"{TEMPLATES}/compact", user="boss")["dropped"] is False
    assert court.bad("GET", f"{RUNS}/{job['jobId']}", user="boss") == absent("Job")


def test_jobs_show_the_present_name_of_their_template(court: Wire) -> None:
    register(court, SHELL)
    job = run(court)
    rename = {"updates": [{"@type": "rename", "newName": "squeeze"}]}
    court.good("PUT", f"{TEMPLATES}/compact", rename, user="boss")
    shown = court.good("GET", f"{RUNS}/{job['jobId']}", user="boss")["job"]
    assert shown["jobTemplateName"] == "squeeze"
