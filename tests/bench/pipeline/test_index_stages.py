"""What Spark's event log says of the stages of an index."""

from __future__ import annotations

import json
from pathlib import Path

from bench.pipeline.index_stages import PUBLISH, of_tasks


def test_tasks_count_for_the_stage_of_their_job(tmp_path: Path) -> None:
    metrics = {
        "Executor Run Time": 4_000,
        "Shuffle Write Metrics": {"Shuffle Bytes Written": 7},
        "Disk Bytes Spilled": 0,
        "Input Metrics": {"Bytes Read": 5},
        "Output Metrics": {"Bytes Written": 3},
    }
    ours = {"spark.job.description": "index: number"}
    events = [
        {
            "Event": "SparkListenerJobStart",
            "Stage IDs": [0],
            "Submission Time": 5,
            "Properties": ours,
        },
        {
            "Event": "SparkListenerJobStart",
            "Stage IDs": [1],
            "Submission Time": 5,
            "Properties": {},
        },
        *(
            {"Event": "SparkListenerTaskEnd", "Stage ID": n, "Task Metrics": metrics}
            for n in (0, 0)
        ),
        {"Event": "SparkListenerTaskEnd", "Stage ID": 1, "Task Metrics": metrics},
    ]
    (tmp_path / "log").write_text("\n".join(map(json.dumps, events)))
    told = of_tasks(tmp_path)
    assert (told["number"]["tasks"], told["number"]["shuffled"]) == (2, 14)
    assert told["number"]["longest_s"] == 4
    assert told[PUBLISH]["read"] == 5
