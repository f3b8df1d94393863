"""Runs commands and scripts of the client, each in a process forked from this one.

Importing the client takes two seconds; forked processes have it imported. Standard input has one
JSON object per line: `argv` (without the program), `script` or nothing for the command `datahub`,
`env`, `cwd`, and the files `out` and `err`. The response is a line with the exit code.
"""

import json
import os
import runpy
import sys
import traceback
from importlib import import_module
from typing import Any

# Imported before any fork.
for name in ("cli.delete_cli", "cli.get_cli", "cli.ingest_cli", "cli.put_cli", "sdk"):
    import_module(f"datahub.{name}")
import_module("datahub.ingestion.run.pipeline")
ENTRY: Any = import_module("datahub.entrypoints")


def run(told: dict[str, Any]) -> None:
    os.environ.clear()
    os.environ.update(told["env"])
    os.chdir(told["cwd"])
    for number, name in ((1, "out"), (2, "err")):
        file = os.open(told[name], os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        os.dup2(file, number)
    sys.argv = [told["script"] or "datahub", *told["argv"]]
    if told["script"]:
        runpy.run_path(told["script"], run_name="__main__")
    else:
        ENTRY.main()


def forked(told: dict[str, Any]) -> int:
    process = os.fork()
    if process:
        return os.waitstatus_to_exitcode(os.waitpid(process, 0)[1])
    code = 1
    try:
        run(told)
        code = 0
    except SystemExit as end:
        code = end.code if isinstance(end.code, int) else int(end.code is not None)
        if isinstance(end.code, str):
            print(end.code, file=sys.stderr)
    finally:
        if code and sys.exc_info()[0] is not None:
            traceback.print_exc()
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)


for line in sys.stdin:
    print(forked(json.loads(line)), flush=True)
