"""The authentication of a server, made from its settings."""

from __future__ import annotations

from lakewarden.authn.authenticator import Authenticator
from lakewarden.authn.code_flow import Client, CodeFlow
from lakewarden.authn.oidc import Expected, KeySet, Verifier, from_file, from_url
from lakewarden.config.settings import Oidc, Settings


def key_set(settings: Settings) -> KeySet | None:
    """The keys of the identity provider, not read yet; None without one."""
    if settings.auth != "oidc":
        return None
    oidc = settings.oidc
    return KeySet(from_file(oidc.jwks_file) if oidc.jwks_file else from_url(oidc.jwks_url))


def authenticator(settings: Settings, keys: KeySet | None) -> Authenticator:
    """The authenticator of all dialects."""
    oidc, root = settings.oidc, settings.root_token
    return Authenticator(
        settings.auth,
        settings.admin,
        None if root is None else root.get_secret_value(),
        None if keys is None else Verifier(keys, _expected(oidc, oidc.audience)),
        oidc.directory,
        _open_to(settings),
        oidc.admins,
    )


def code_flow(
    settings: Settings, keys: KeySet | None, authenticator: Authenticator, public_url: str
) -> CodeFlow | None:
    """The login at the identity provider; None if it is not configured."""
    oidc = settings.oidc
    if keys is None or not oidc.client_id:
        return None
    client = Client(
        id=oidc.client_id,
        secret=None if oidc.client_secret is None else oidc.client_secret.get_secret_value(),
        issuer=oidc.issuer,
        authorization_url=oidc.authorization_url,
        token_url=oidc.token_url,
        redirect_url=f"{public_url}/ui/login/oidc/callback",
        scope=oidc.scope,
    )
    verifier = Verifier(keys, _expected(oidc, oidc.client_id))
    return CodeFlow(client, verifier, authenticator.identified)


def _expected(oidc: Oidc, audience: str) -> Expected:
    """The required claims of a token of the provider for this audience."""
    return Expected(oidc.issuer, audience, oidc.user_claim, oidc.group_claim, oidc.leeway_seconds)


def _open_to(settings: Settings) -> dict[str, str]:
    """The users of unauthenticated requests, by dialects whose authentication is switched off."""
    return {
        name: section.anonymous for name, section in settings.systems.items() if section.anonymous
    }
