"""A real identity provider in its own process: `oidc-provider` for Node, from npm's registry.

Its packages are installed once, in the user's cache, with the versions of the lock file here.
"""

from __future__ import annotations

import hashlib
import importlib.util
import os
import re
import shutil
import ssl
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from html import unescape
from pathlib import Path
from types import ModuleType
from urllib.parse import urljoin

import httpx
import pytest

from tests.servers import free_port

_WITHOUT_TLS = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
"""The provider uses HTTP, and loading the machine's certificates takes as long as a login."""

HERE = Path(__file__).parent / "provider"
ROOT = Path(__file__).parents[2]


def _build_pages() -> ModuleType:
    """The script that finds Node."""
    spec = importlib.util.spec_from_file_location("build_pages", ROOT / "scripts/build_pages.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def installed() -> tuple[Path, Path]:
    """Node, and the folder of the provider; skips the test if there is no Node."""
    scripts = _build_pages()
    try:
        node: Path = scripts.own_node() or scripts.wheel_node() or scripts.cached_node()
    except scripts.CannotBuild as cause:
        pytest.skip(f"no Node for the identity provider: {cause}")
    lock = (HERE / "package-lock.json").read_bytes()
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    folder = cache / "lakewarden" / f"oidc-provider-{hashlib.sha256(lock).hexdigest()[:16]}"
    if not (folder / "installed").is_file():
        fresh = folder.with_name(f"{folder.name}-{os.getpid()}")
        shutil.rmtree(fresh, ignore_errors=True)
        shutil.copytree(HERE, fresh)
        path = os.pathsep.join([str(node.parent), os.environ.get("PATH", "")])
        options = ["ci", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error"]
        command = [*scripts._npm(node), *options]
        subprocess.run(command, cwd=fresh, env={**os.environ, "PATH": path}, check=True)
        (fresh / "installed").touch()
        if folder.exists():  # another worker was faster
            shutil.rmtree(fresh)
        else:
            fresh.rename(folder)
    shutil.copy(HERE / "provider.js", folder / "provider.js")
    return node, folder


class Provider:
    """The provider at `issuer`; `stop` ends it."""

    def __init__(self, issuer: str, process: subprocess.Popen[str]) -> None:
        self.issuer = issuer
        self._process = process

    def stop(self) -> None:
        self._process.terminate()
        self._process.wait(10)

    def log_in(self, url: str, user: str, *, consents: bool = True) -> str:
        """Logs in like a person at the provider; returns the address of the final redirect."""
        with httpx.Client(trust_env=False, verify=_WITHOUT_TLS) as browser:
            answer = browser.get(url)
            for _ in range(20):
                if answer.is_redirect:
                    target = urljoin(str(answer.url), answer.headers["location"])
                    if not target.startswith(self.issuer):
                        return target
                    answer = browser.get(target)
                else:
                    answer = browser.send(_filled(browser, answer, user, consents))
        raise AssertionError("the provider leads nowhere")


def _filled(
    browser: httpx.Client, answer: httpx.Response, user: str, consents: bool
) -> httpx.Request:
    """The page's form, filled in; or its link to cancel."""
    assert answer.status_code == 200, answer.text
    if not consents:
        abort = re.search(r'href="([^"]+/abort)"', answer.text)
        assert abort is not None, answer.text
        return browser.build_request("GET", urljoin(str(answer.url), unescape(abort[1])))
    action = re.search(r'<form[^>]*action="([^"]+)"', answer.text)
    assert action is not None, answer.text
    fields = dict(re.findall(r'<input type="hidden" name="([^"]+)" value="([^"]*)"', answer.text))
    if 'name="login"' in answer.text:
        fields |= {"login": user, "password": "any"}
    url = urljoin(str(answer.url), unescape(action[1]))
    return browser.build_request("POST", url, data=fields)


@contextmanager
def provider(redirect_url: str) -> Iterator[Provider]:
    """The provider, until the end of the block."""
    node, folder = installed()
    port = free_port()
    command = [str(node), "provider.js", str(port), redirect_url]
    process = subprocess.Popen(
        command,
        cwd=folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    assert process.stdout is not None
    try:
        assert process.stdout.readline().strip() == "listening"
        yield Provider(f"http://127.0.0.1:{port}", process)
    finally:
        process.terminate()
        process.wait(10)
        process.stdout.close()
