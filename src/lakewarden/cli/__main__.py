"""`python -m lakewarden.cli` is the same as the `lakewarden` command.

It may also be handed to `spark-submit` as a file.
"""

import sys

if not __package__:
    # Run as a file, this folder comes first on the path; its modules would hide others.
    del sys.path[0]

from lakewarden.cli import main

sys.exit(main())
