#!/bin/sh
# Makes an environment for DataHub's Python client, once, and prints its Python.
exec "$(dirname "$0")/client-environment.sh" acryl-datahub 1.7.0.17 'acryl-datahub[datahub-rest]'
