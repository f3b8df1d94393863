"""OpenTelemetry traces: whether they are configured, and the sender of spans."""
