"""The environment variables that configure a store's place and credentials."""

from __future__ import annotations

from pathlib import Path

from tests.pipeline.storage.azurite import KEY


def of_s3(endpoint: str) -> dict[str, str]:
    """For an S3 server."""
    return {
        "AWS_ACCESS_KEY_ID": "key",
        "AWS_SECRET_ACCESS_KEY": "not-to-be-shown",
        "AWS_REGION": "us-east-1",
        "AWS_ENDPOINT_URL": endpoint,
    }


def of_google(endpoint: str, account: Path) -> dict[str, str]:
    """For a Google Cloud Storage server, with a service account file."""
    return {"GOOGLE_BASE_URL": endpoint, "GOOGLE_APPLICATION_CREDENTIALS": str(account)}


def of_azure(endpoint: str) -> dict[str, str]:
    """For an Azure account."""
    return {"AZURE_STORAGE_ENDPOINT": endpoint, "AZURE_STORAGE_ACCOUNT_KEY": KEY}
