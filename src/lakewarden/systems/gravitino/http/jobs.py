"""Job templates and jobs: templates are stored, jobs are recorded, nothing is ever run.

A job stays `queued` until it is cancelled. A template with queued jobs cannot be deleted; deleting
a template deletes its other jobs. The values with which a job is run are not stored.
SOURCE: gravitino reference 3.5, 4.3, 4.4 and 9;
apache/gravitino:docs/open-api/jobs.yaml@0bf03bdedfb6.
"""

from __future__ import annotations

import secrets
from typing import Any, Final

import msgspec
from pyroaring import BitMap

from lakewarden.http.exchange import Exchange, Reply, Route
from lakewarden.kernel.change import EntityDropped, RelationChanged
from lakewarden.kernel.entity import Entity
from lakewarden.kernel.relations import RelationRow
from lakewarden.names.canonical import quoted
from lakewarden.service.state import RealmState
from lakewarden.service.write_transaction import WriteTransaction
from lakewarden.systems.gravitino import names as gravitino
from lakewarden.systems.gravitino.http import object_store
from lakewarden.systems.gravitino.http.authorization import (
    allow,
    entity,
    is_stored,
    listed,
    visible,
    write,
)
from lakewarden.systems.gravitino.http.bodies import (
    Body,
    Json,
    audit_of,
    convert,
    enum_word,
    is_on,
    ok,
    read,
)
from lakewarden.systems.gravitino.http.errors import IN_USE, Failure, illegal, no_such_entity
from lakewarden.systems.gravitino.http.kinds import METALAKE, Created, Kind, alter, create, load
from lakewarden.systems.gravitino.http.updates import (
    Draft,
    Rename,
    Update,
    UpdateComment,
    apply_shared,
    checked_properties,
)

QUEUED: Final = "queued"
CANCELLED: Final = "cancelled"

TEMPLATE: Final = "template"
"""The relation from a job to its template."""

_TYPES: Final = ("shell", "spark")


class Template(Body, kw_only=True, omit_defaults=True):
    """The members of every template, in stored and shown form."""

    executable: str
    comment: str | None = None
    arguments: list[str] | None = None
    environments: dict[str, str] | None = None
    custom_fields: dict[str, str] | None = None


class ShellTemplate(Template, kw_only=True, omit_defaults=True):
    """A template that runs a script."""

    scripts: list[str] | None = None


class SparkTemplate(Template, kw_only=True, omit_defaults=True):
    """A template that runs a Spark application."""

    class_name: str | None = None
    jars: list[str] | None = None
    files: list[str] | None = None
    archives: list[str] | None = None
    configs: dict[str, str] | None = None


class Register(Body):
    """The body of POST …/jobs/templates."""

    job_template: dict[str, Any]


class UpdateTemplate(Update, tag="updateTemplate"):
    """The changed content of a template: `{"@type": "shell", "newExecutable": …}`."""

    new_template: dict[str, Any]


class Run(Body):
    """The body of POST …/jobs/runs."""

    job_template_name: str
    job_conf: dict[str, str] | None = None


_CONTENTS: Final[dict[str, type[Template]]] = {"shell": ShellTemplate, "spark": SparkTemplate}


def _read(exchange: Exchange) -> Created:
    template = read(exchange, Register).job_template
    name = template.get("name")
    if not isinstance(name, str):
        raise illegal("body: jobTemplate: expected a `name`")
    return name, _template(template, template.get("jobType"))


def _template(members: Json, type: object) -> Json:
    """A template in its stored form; raises `Failure` 400 if it does not fit its type."""
    if not isinstance(type, str):
        raise illegal("body: jobTemplate: expected a `jobType`")
    lower = enum_word(type, _TYPES, "job type")
    content = convert(members, _CONTENTS[lower], "body: jobTemplate")
    if not content.executable.strip():
        raise illegal("body: jobTemplate: the `executable` is blank")
    for map in (content.environments, content.custom_fields):
        checked_properties(map)
    template: Json = msgspec.to_builtins(content)
    return {"jobType": lower, **template}


def show(name: str, document: Json) -> Json:
    """A template in the form of replies; for one loaded in bulk, only the name is known."""
    members = {key: value for key, value in document.items() if key not in ("audit", "properties")}
    content = {"jobType": "shell", "executable": "unknown", **members}
    return {"name": name, **content, "audit": audit_of(document)}


def _apply(draft: Draft, update: object) -> None:
    if not isinstance(update, UpdateTemplate):
        apply_shared(draft, update)
        return
    before = show(draft.name, draft.body)
    type = update.new_template.get("@type")
    if not isinstance(type, str) or enum_word(type, _TYPES, "job type") != before["jobType"]:
        raise illegal(f"the template is of type `{before['jobType']}`, which does not change")
    new = {
        key[3].lower() + key[4:]: value
        for key, value in update.new_template.items()
        if key.startswith("new") and len(key) > 3 and value is not None
    }
    draft.body |= _template({**before, **new}, before["jobType"])


TEMPLATES: Final = Kind(
    type="job_template",
    within="metalake",
    path=METALAKE + "/jobs/templates",
    read=_read,
    show=show,
    updates=Rename | UpdateComment | UpdateTemplate,
    apply=_apply,
    create="register",
)


def list_templates(exchange: Exchange) -> Reply:
    """The templates that the caller may read: names, or with `details=true` the whole templates."""
    templates = listed(exchange, "job_template.list", entity(exchange, "metalake"))
    names = [gravitino.full_name(template) for template in templates]
    if not is_on(exchange, "details"):
        return ok(names=names)
    bodies = object_store.documents(exchange, templates)
    return ok(jobTemplates=[show(n, body) for n, body in zip(names, bodies, strict=True)])


def register(exchange: Exchange) -> Reply:
    """Creates a template, owned by the caller; the reply does not contain it."""
    create(TEMPLATES, exchange)
    return ok()


def load_template(exchange: Exchange) -> Reply:
    """One template."""
    return _renamed(load(TEMPLATES, exchange))


def alter_template(exchange: Exchange) -> Reply:
    """The template after the updates, all of them or none."""
    return _renamed(alter(TEMPLATES, exchange))


def _renamed(reply: Reply) -> Reply:
    """The reply with the template under the key that clients expect."""
    body = msgspec.json.decode(reply.body)
    return ok(jobTemplate=body["job_template"])


def delete_template(exchange: Exchange) -> Reply:
    """Deletes a template with its jobs; `dropped` is false if there was none."""
    template = entity(exchange, "job_template")

    def delete_unused_template(transaction: WriteTransaction) -> bool:
        state = transaction.realm(exchange.realm)
        if not is_stored(state, template):
            return False
        jobs = _jobs_of(state, template)
        job_bodies = transaction.store.documents(exchange.realm, jobs)
        if any((job_bodies.get(job) or {}).get("status") == QUEUED for job in jobs):
            name = quoted(gravitino.full_name(template))
            message = f"job template {name} has jobs that are not finished; cancel them first"
            raise Failure(409, IN_USE, "InUseException", message)
        # Drop the jobs first: their relations to the template go with them.
        transaction.change(exchange.realm, *map(EntityDropped, jobs))
        transaction.change(exchange.realm, EntityDropped(template))
        return True

    return ok(
        dropped=write(exchange, "job_template.drop", template, delete_unused_template, missing=None)
    )


def list_jobs(exchange: Exchange) -> Reply:
    """The jobs that the caller may read, all or those of one template.

    Answers 404 for a template that does not exist or that the caller may not read.
    """
    metalake = entity(exchange, "metalake")
    jobs = listed(exchange, "job.list", metalake)
    state, name = exchange.realm_state, exchange.one("jobTemplateName")
    if name:
        template = gravitino.entity(metalake.name, "job_template", name)
        jobs = sorted(set(jobs).intersection(_jobs_of(state, template)))
        is_visible = visible(exchange, "job_template.list", [template], metalake)
        if not jobs and not (is_visible and is_stored(state, template)):
            raise no_such_entity(template)
    bodies = object_store.documents(exchange, jobs)
    return ok(jobs=[job_body(state, job, body) for job, body in zip(jobs, bodies, strict=True)])


def run(exchange: Exchange) -> Reply:
    """Records a job of a template, owned by the caller."""
    metalake = entity(exchange, "metalake")
    template = gravitino.entity(
        metalake.name, "job_template", read(exchange, Run).job_template_name
    )

    def queue_job(transaction: WriteTransaction) -> Json:
        # Not guessable, and never reused.
        job = object_store.child(metalake, "job", f"job-{secrets.randbits(63)}")
        body = object_store.add(exchange, transaction, job, {"status": QUEUED})
        row = RelationRow(TEMPLATE, job, template)
        transaction.change(exchange.realm, RelationChanged(row, True))
        return job_body(transaction.realm(exchange.realm), job, body)

    return ok(job=write(exchange, "job.run", template, queue_job))


def get_job(exchange: Exchange) -> Reply:
    """One job."""
    job = entity(exchange, "job")
    state = allow(exchange, "job.load", job)
    return ok(job=job_body(state, job, object_store.document(exchange, job)))


def cancel(exchange: Exchange) -> Reply:
    """Cancels a job; a finished job stays as it is."""
    job = entity(exchange, "job")

    def cancel_job(transaction: WriteTransaction) -> Json:
        draft = object_store.draft(transaction, exchange.realm, job)
        if draft.body.get("status", QUEUED) == QUEUED:
            draft.body["status"] = CANCELLED
            object_store.save(exchange, transaction, job, draft)
        return job_body(transaction.realm(exchange.realm), job, draft.body)

    return ok(job=write(exchange, "job.cancel", job, cancel_job))


def job_body(state: RealmState, job: Entity, document: Json) -> Json:
    """A job in the form of replies; for one loaded in bulk, the template is not known."""
    coded = state.matrix.snapshot.coded
    id = coded.tree.find(job)
    targets = () if id is None else coded.relations[TEMPLATE].of(id)
    names = [gravitino.full_name(coded.tree.entity(target)) for target, _ in targets]
    return {
        "jobId": gravitino.full_name(job),
        "jobTemplateName": names[0] if names else "unknown",
        "status": document.get("status") or QUEUED,
        "audit": audit_of(document),
    }


def _jobs_of(state: RealmState, template: Entity) -> list[Entity]:
    coded = state.matrix.snapshot.coded
    id = coded.tree.find(template)
    if id is None:
        return []
    jobs = coded.relations[TEMPLATE].sources_of(BitMap([id]))
    return [coded.tree.entity(job) for job in coded.tree.ordered(jobs)]


_RUNS: Final = METALAKE + "/jobs/runs"
_ALL: Final = TEMPLATES.path
_ONE: Final = TEMPLATES.one

ROUTES: Final = (
    Route("GET", _ALL, "job_template.list", list_templates),
    Route("POST", _ALL, "job_template.register", register),
    Route("GET", _ONE, "job_template.load", load_template),
    Route("PUT", _ONE, "job_template.alter", alter_template),
    Route("DELETE", _ONE, "job_template.drop", delete_template),
    Route("GET", _RUNS, "job.list", list_jobs),
    Route("POST", _RUNS, "job.run", run),
    Route("GET", _RUNS + "/{job}", "job.load", get_job),
    Route("POST", _RUNS + "/{job}", "job.cancel", cancel),
)
