#!/bin/sh
# Makes an environment for Gravitino's Python client, once, and prints its Python.
exec "$(dirname "$0")/client-environment.sh" apache-gravitino 1.3.1 apache-gravitino
