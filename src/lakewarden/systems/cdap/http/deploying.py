"""Deploys and updates applications, each with its versions.

All versions of an application are one entity; its programs are those of the version that was
deployed last. Deploying over an existing application updates it.
SOURCE: cdap reference 2.4, 2.9, 4.6, 4.10 (P2), K11, K25.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple, cast

from lakewarden.http.exchange import Exchange, Reply, Route
from lakewarden.kernel.entity import Entity
from lakewarden.service.state import RealmState
from lakewarden.service.write_transaction import WriteTransaction
from lakewarden.systems.cdap import names as cdap
from lakewarden.systems.cdap.http import artifacts, deployment, object_store, owners
from lakewarden.systems.cdap.http.authorization import (
    Requirement,
    is_allowed,
    is_stored,
    write_all,
)
from lakewarden.systems.cdap.http.bodies import (
    ANY_TYPE,
    Body,
    Json,
    convert,
    present,
    read,
    text_reply,
)
from lakewarden.systems.cdap.http.errors import bad, exists, not_found
from lakewarden.systems.cdap.http.ids import (
    SYSTEM,
    application,
    inside,
    last,
    namespace,
    namespace_of,
)
from lakewarden.systems.cdap.http.object_store import METADATA
from lakewarden.systems.cdap.http.versions import UNVERSIONED, VERSIONS, version_of, versions_in

PATH: Final = "/v3/namespaces/{namespace}/apps"
ONE: Final = f"{PATH}/{{app}}"
VERSION: Final = f"{ONE}/versions/{{version}}"

PRINCIPAL: Final = "principal"


class ArtifactBody(Body):
    """The artifact of an application."""

    name: str
    version: str | None = None
    scope: str | None = None


class AppBody(Body):
    """The body of a deployment or an update."""

    artifact: ArtifactBody | None = None
    config: object = None
    principal: str | None = None
    description: str | None = None


class Plan(NamedTuple):
    """A deployment: the application and its version, its artifact, and its contents.

    `principal` is the given owner, `config` the configuration as text. The artifact is None if it
    is not known, because the application was imported.
    """

    app: Entity
    version: str
    artifact: Entity | None
    artifact_version: str
    config: str
    wanted: deployment.Contents
    principal: str | None
    description: str | None


def deploy(exchange: Exchange) -> Reply:
    """Deploys an application from an artifact; an existing application is updated."""
    return _deploy(exchange, UNVERSIONED)


def create_version(exchange: Exchange) -> Reply:
    """Deploys one version of an application; a fixed version only once."""
    version = exchange.params["version"]
    artifacts.check_version(version)
    return _deploy(exchange, version)


def _deploy(exchange: Exchange, version: str) -> Reply:
    app = application(exchange)
    body = read(exchange, AppBody)
    if body.artifact is None or not body.artifact.version:
        raise bad("expected the name and version of an `artifact`")
    config = deployment.text_of_config(body.config)
    plan = Plan(
        app,
        version,
        _artifact(app, body.artifact),
        body.artifact.version,
        config,
        deployment.read_contents(app, config),
        body.principal,
        body.description,
    )

    def requirements(transaction: WriteTransaction) -> Sequence[Requirement]:
        state = transaction.realm(exchange.realm)
        return _requirements(state, plan, _operation(exchange, state, plan, transaction.now))

    write_all(
        exchange,
        requirements,
        lambda transaction: _apply_plan(exchange, transaction, plan),
        missing=None,
    )
    return text_reply("Deploy Complete")


def _operation(exchange: Exchange, state: RealmState, plan: Plan, now: float) -> str:
    """The operation of this deployment: an update, if the application exists.

    A caller to whom it is not visible, and who could not deploy it anew, is refused as if it did
    not exist.
    """
    if not is_stored(state, plan.app):
        return "application.deploy"
    shown, anew = "application.list.filter", _requirement(plan, "application.deploy")
    for ask in (Requirement(shown, plan.app), anew):
        if is_allowed(exchange, state, ask, now):
            return "application.redeploy"
    return "application.deploy"


def deploy_file(exchange: Exchange) -> Reply:
    """Deploys an application together with its artifact: `name-version.jar` as the body.

    The application's name is the configuration's `name`, by default the artifact's name.
    """
    space = namespace(exchange)
    name, version = _archive(exchange.headers.get("x-archive-name", ""))
    exchange.headers = {**exchange.headers, "artifact-version": version}
    _, file = artifacts.file_of(exchange)
    config = exchange.headers.get("x-app-config", "")
    artifact = inside(space, "artifact", name)
    app = inside(space, "application", deployment.read_config(config).name or name)
    plan = Plan(
        app,
        UNVERSIONED,
        artifact,
        version,
        config,
        deployment.read_contents(app, config),
        exchange.headers.get("x-principal") or None,
        None,
    )

    def requirements(transaction: WriteTransaction) -> Sequence[Requirement]:
        state = transaction.realm(exchange.realm)
        required = list(_requirements(state, plan, "application.deploy_with_artifact"))
        if is_stored(state, app):
            required.insert(1, _requirement(plan, "application.update"))
        return required

    def deploy_plan(transaction: WriteTransaction) -> None:
        artifacts.put_version(exchange, transaction, artifact, version, file)
        _apply_plan(exchange, transaction, plan)

    write_all(exchange, requirements, deploy_plan, missing=None)
    return text_reply("Deploy Complete")


def update(exchange: Exchange) -> Reply:
    """Changes an application: members that are not given stay as they are."""
    app = application(exchange)
    body = read(exchange, AppBody)

    def planned(transaction: WriteTransaction) -> Plan:
        stored = latest(object_store.document_in(transaction, exchange.realm, app))
        used = cast("Json", stored.get("artifact") or {})
        artifact_body = body.artifact or convert(used, ArtifactBody) if used else body.artifact
        config = str(stored.get("configuration") or "")
        if body.config is not None:
            config = deployment.text_of_config(body.config)
        return Plan(
            app,
            str(stored.get("version") or UNVERSIONED),
            None if artifact_body is None else _artifact(app, artifact_body),
            (artifact_body.version if artifact_body is not None else None)
            or str(used.get("version", "")),
            config,
            deployment.read_contents(app, config),
            body.principal,
            body.description,
        )

    def requirements(transaction: WriteTransaction) -> Sequence[Requirement]:
        state, plan = transaction.realm(exchange.realm), planned(transaction)
        if is_named(transaction, plan):
            return _requirements(state, plan, "application.update")
        may_update = Requirement("core.update", app)
        if is_allowed(exchange, state, may_update, transaction.now):
            return [may_update]
        # Refused like an application whose artifact is known.
        stand_in = plan._replace(artifact=inside(namespace_of(app), "artifact", last(app)))
        return [_requirement(stand_in, "application.update")]

    def is_named(transaction: WriteTransaction, plan: Plan) -> bool:
        """Whether the artifact is known, or the caller may update without one."""
        state, ask = transaction.realm(exchange.realm), _requirement(plan, "application.update")
        return plan.artifact is not None or is_allowed(exchange, state, ask, transaction.now)

    def apply_update(transaction: WriteTransaction) -> None:
        plan = planned(transaction)
        if not is_named(transaction, plan):
            raise bad("expected an `artifact`: of the one in use nothing is known")
        _apply_plan(exchange, transaction, plan, over=True)

    write_all(exchange, requirements, apply_update)
    return text_reply("Update complete.")


def _requirements(state: RealmState, plan: Plan, operation: str) -> Sequence[Requirement]:
    """The operation itself, the owner, and the creation of each new object."""
    owner = owners.effective(state, plan.app, plan.principal)
    return [
        _requirement(plan, operation),
        *owners.requirements(owner),
        *deployment.requirements(state, plan.wanted, owner),
    ]


def _requirement(plan: Plan, operation: str) -> Requirement:
    targets = {} if plan.artifact is None else {"artifact": plan.artifact}
    return Requirement(operation, plan.app, {"targets": targets})


def _apply_plan(
    exchange: Exchange, transaction: WriteTransaction, plan: Plan, *, over: bool = False
) -> None:
    """Applies the plan to the application, after authorization.

    `over`: also overwrites an existing fixed version.
    """
    realm = exchange.realm
    body = object_store.document_in(transaction, realm, plan.app)
    is_new = not is_stored(transaction.realm(realm), plan.app)
    versions = {} if is_new else versions_in(body)
    version_body: Json = present(
        version=plan.version,
        artifact=_artifact_body(transaction, realm, plan),
        configuration=plan.config,
        description=plan.description,
        datasets=[last(dataset) for dataset in plan.wanted.datasets],
        streams=[last(stream) for stream in plan.wanted.streams],
        deployed=transaction.now,
        **{METADATA: versions.get(plan.version, {}).get(METADATA)},
    )
    after = {VERSIONS: {**versions, plan.version: version_body}}
    if not is_new:
        state = transaction.realm(realm)
        owners.check_same(state, "application.redeploy", plan.app, body, plan.principal)
        if not (over or plan.version not in versions or plan.version.endswith(UNVERSIONED)):
            raise exists(f"{cdap.format_id(plan.app)}.{plan.version}")
        object_store.put(transaction, realm, plan.app, **after)
    else:
        new = present(**after, **{PRINCIPAL: plan.principal})
        object_store.add(exchange, transaction, "application.deploy", plan.app, new)
    deployment.create_contents(exchange, transaction, plan.app, plan.wanted, plan.principal)


def _artifact_body(transaction: WriteTransaction, realm: str, plan: Plan) -> Json | None:
    """The artifact in the form of replies, in an existing version; raises `Failure` 404."""
    if plan.artifact is None:
        return None
    if not is_stored(transaction.realm(realm), plan.artifact):
        raise not_found(plan.artifact)
    body = object_store.document_in(transaction, realm, plan.artifact)
    version_of(plan.artifact, body, plan.artifact_version)
    return {
        "name": last(plan.artifact),
        "version": plan.artifact_version,
        "scope": artifacts.scope_of(plan.artifact),
    }


def latest(body: Mapping[str, object]) -> Json:
    """The version that was deployed last; empty if no version is stored."""
    versions = sorted(
        versions_in(body).values(),
        key=lambda version_body: float(cast("float", version_body.get("deployed") or 0.0)),
    )
    return versions[-1] if versions else {}


def _artifact(app: Entity, body: ArtifactBody) -> Entity:
    scope = (body.scope or artifacts.USER_SCOPE).upper()
    if scope not in (artifacts.USER_SCOPE, artifacts.SYSTEM_SCOPE):
        raise bad(f"unknown scope of the artifact `{body.scope}`; expected USER or SYSTEM")
    space = SYSTEM if scope == artifacts.SYSTEM_SCOPE else namespace_of(app)
    return inside(space, "artifact", body.name)


def _archive(header: str) -> tuple[str, str]:
    """Name and version of `name-version.jar`; raises `Failure` 400."""
    name, dash, version = header.removesuffix(".jar").partition("-")
    while dash and version and not version[0].isdigit():
        more, dash, version = version.partition("-")
        name = f"{name}-{more}"
    if not name or not version:
        raise bad("expected `name-version.jar` in the header `X-Archive-Name`")
    return name, version


ROUTES: Final[Sequence[Route]] = (
    Route(
        *("POST", PATH, "application.deploy_with_artifact", deploy_file),
        body_limit=artifacts.BYTES,
        accepts=ANY_TYPE,
    ),
    Route("PUT", ONE, "application.deploy", deploy),
    Route("POST", f"{ONE}/update", "application.update", update),
    Route("POST", f"{VERSION}/create", "application.deploy", create_version),
)
