"""The composition root: settings become a store, a plane, dialects and the server in front."""
