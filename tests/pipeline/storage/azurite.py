"""Azure Blob Storage as a process for tests: Microsoft's own emulator."""

from __future__ import annotations

import base64
import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import pytest
from pyarrow.fs import AzureFileSystem

from tests.servers import free_port, wait_for

CACHE: Final = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "lakewarden"
ACCOUNT: Final = "account"
KEY: Final = base64.b64encode(b"not-to-be-shown").decode()
PAGE: Final = 3
"""Names per page of a list, so each list has several pages; the server's default is 5,000."""

_PAGES: Final = "dist/src/blob/utils/constants"


@contextmanager
def azurite(folder: Path) -> Iterator[str]:
    """The endpoint of an account; skips the test if the server is not installed."""
    found = sorted(CACHE.glob("azurite-*/node_modules/azurite"))
    if not found:
        pytest.skip("Azurite is not installed (scripts/install-azurite.sh)")
    if shutil.which("node") is None:
        pytest.skip("Azurite needs Node")
    home, port = found[-1], free_port()
    (folder / "pages.js").write_text(
        f"require('{home / _PAGES}').DEFAULT_LIST_BLOBS_MAX_RESULTS = {PAGE};\n", "utf-8"
    )
    command = ["node", "--require", str(folder / "pages.js"), str(home / "dist/src/blob/main.js")]
    command += ["--blobHost", "127.0.0.1", "--blobPort", str(port)]
    command += ["--inMemoryPersistence", "--disableTelemetry", "--silent", "--skipApiVersionCheck"]
    environment = {**os.environ, "AZURITE_ACCOUNTS": f"{ACCOUNT}:{KEY}"}
    log = folder / "azurite.log"
    with log.open("w") as out:
        process = subprocess.Popen(command, stdout=out, stderr=out, env=environment)
    try:
        wait_for(port, process, log)
        yield f"http://127.0.0.1:{port}/{ACCOUNT}"
    finally:
        process.kill()
        process.wait(20)


def create_container(endpoint: str, name: str) -> None:
    """Creates a container, with an independent client."""
    host = endpoint.removeprefix("http://").partition("/")[0]
    AzureFileSystem(
        ACCOUNT, account_key=KEY, blob_storage_authority=host, blob_storage_scheme="http"
    ).create_dir(name)
