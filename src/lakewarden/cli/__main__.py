"""`python -m lakewarden.cli` is the same as the `lakewarden` command."""

import sys

from lakewarden.cli import main

sys.exit(main())
