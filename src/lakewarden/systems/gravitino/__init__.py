"""Apache Gravitino: its model, names, settings, wire protocol, sources and sample."""
