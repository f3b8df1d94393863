"""DataHub: its model, names, settings, wire protocol, sources and sample."""
