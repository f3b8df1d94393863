"""The composition root: from settings to a store, a decision service, dialects and the server."""
