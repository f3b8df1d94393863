"""`python -m lakewarden.cli` is the same as the `lakewarden` command.

It can also be passed to `spark-submit` as a file.
"""

import sys

if not __package__:
    # When run as a file, this folder is first on the path; its modules would shadow others.
    del sys.path[0]

from lakewarden.cli import main

sys.exit(main())
