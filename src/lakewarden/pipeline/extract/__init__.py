"""From a running original, over its own API, to an export that `pipeline.ingest` reads."""
