"""The composition root: settings become a store, a decision service, dialects and the server in front."""
