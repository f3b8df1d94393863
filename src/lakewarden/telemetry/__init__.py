"""Traces of OpenTelemetry: whether they are asked for, and what sends spans."""
