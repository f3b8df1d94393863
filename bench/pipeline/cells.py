"""Cells: a kind of world, a size and a seed, with the figures of its stages; stored one by one.

    build/bench/pipeline/CELL.json       the figures of one cell: KIND-ENTITIES[-COLUMNS]-SEED
    build/bench/pipeline/work/CELL/      the world and the outputs of stages; removed afterwards

A cell is complete if every stage that can run was measured. An incomplete cell is measured again as
a whole, to take all its figures at the same time and from the same code.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from bench.literal import Void
from bench.pipeline import agreement, by_blocks
from bench.pipeline.estate import Size, World
from bench.pipeline.measure import run_apart
from bench.pipeline.stages import Figures, Stage, measured
from bench.result import machine, rounded
from bench.text import say
from lakewarden.pipeline.directory_manifest import Manifest, read_manifest
from lakewarden.pipeline.version_folder import MANIFEST, VERSIONS

KEPT = Path("build/bench/pipeline")
"""The folder of the results."""

Agree = Callable[[Path, Path, int], dict[str, Any]]
"""Compares an index with the directory that it was made from; raises `Void`."""


@dataclass(frozen=True, slots=True)
class Cell:
    """A unit of measurement."""

    world: World
    size: Size
    seed: int

    @property
    def name(self) -> str:
        """The cell's name, also that of its file."""
        columns = f"-{self.size.columns}" if self.size.columns else ""
        return f"{self.world.kind}-{self.size.entities}{columns}-{self.seed}"


@dataclass(frozen=True, slots=True)
class Bench:
    """Measures cells, one after the other."""

    stages: Sequence[Stage]
    kept: Path = KEPT
    again: bool = False
    keep_worlds: bool = False
    agree: Agree = agreement.apart
    agree_by_blocks: Agree = by_blocks.apart

    def cells(self, cells: Sequence[Cell]) -> list[dict[str, Any]]:
        """The results of all cells; known ones are reused."""
        found = []
        for number, cell in enumerate(cells, 1):
            known = self.known(cell)
            if known is None:
                say(f"[{number}/{len(cells)}] {cell.name}")
                known = self._measure(cell)
            else:
                say(f"[{number}/{len(cells)}] {cell.name}: measured before, on {known['date']}")
            found.append(known)
        return found

    def known(self, cell: Cell) -> dict[str, Any] | None:
        """The stored result, if it has the cell's size and every stage that can run."""
        file = self._file(cell)
        if self.again or not file.exists():
            return None
        result: dict[str, Any] = json.loads(file.read_text("utf-8"))
        wanted = {stage.name for stage in self._of(cell) if self._reason(stage, cell) == ""}
        done = {name for name, figures in result["stages"].items() if "wall_s" in figures}
        failed = any("failed" in figures for figures in result["stages"].values())
        is_same = result["size"] == asdict(cell.size)
        is_whole = is_same and wanted <= done and not failed and result["void"] is None
        return result if is_whole else None

    def _of(self, cell: Cell) -> list[Stage]:
        return [stage for stage in self.stages if cell.world.kind in stage.worlds]

    def _reason(self, stage: Stage, cell: Cell) -> str:
        """Why the stage cannot run, itself or because a stage that it needs cannot."""
        by_name = {each.name: each for each in self._of(cell)}
        reasons = [stage.missing()]
        for name in stage.needs:
            needed = by_name.get(name)
            reasons.append(self._reason(needed, cell) if needed else f"`{name}` is not run")
        return next(filter(None, reasons), "")

    def _file(self, cell: Cell) -> Path:
        return self.kept / f"{cell.name}.json"

    def _measure(self, cell: Cell) -> dict[str, Any]:
        """Runs all stages of a cell; stores a void result, too, with the reason."""
        work = self.kept / "work" / cell.name
        world = self._world(cell, work)
        result: dict[str, Any] = {
            **machine(),
            "kind": cell.world.kind,
            "size": asdict(cell.size),
            "seed": cell.seed,
            "memory": "samples of all processes of a stage, every 0.3 s or less often",
            "world": world,
            "stages": {},
            "agreement": None,
            "void": None,
        }
        try:
            self._run(cell, work, result)
        except Void as reason:
            say(f"  void: {reason}")
            result["void"] = str(reason)
        final: dict[str, Any] = rounded(result)
        self._file(cell).write_text(json.dumps(final, indent=2) + "\n")
        if not self.keep_worlds:
            shutil.rmtree(work)
        return final

    def _world(self, cell: Cell, work: Path) -> Figures:
        """Generates the world in an otherwise empty folder; one that was kept is used again."""
        kept, world, file = work.with_name(f"{work.name}.kept"), work / "world", self._file(cell)
        if self.keep_worlds and (world / MANIFEST).exists() and file.exists():
            world.rename(kept)
        shutil.rmtree(work, ignore_errors=True)
        work.mkdir(parents=True)
        if not kept.exists():
            return self._write(cell, world)
        kept.rename(world)
        figures: Figures = json.loads(file.read_text("utf-8"))["world"]
        return figures

    def _write(self, cell: Cell, out: Path) -> Figures:
        """Generates the world in a separate process."""
        taken = run_apart(cell.world.write, out, cell.size, cell.seed)
        manifest = read_manifest(out)
        rows = {name: content.rows for name, content in manifest.tables.items()}
        bytes = sum(file.stat().st_size for file in out.rglob("*") if file.is_file())
        figures: Figures = {"wall_s": taken.wall_s, "peak_rss_mib": taken.peak_rss_mib}
        _told("world", figures)
        return {**figures, "bytes": bytes, "rows": {**rows, "statements": manifest.statements.rows}}

    def _run(self, cell: Cell, work: Path, result: dict[str, Any]) -> None:
        world = work / "world"
        places, manifest = _places(world, self.stages, work), read_manifest(world)
        for stage in self._of(cell):
            figures = self._stage(stage, cell, places, manifest, result["stages"])
            result["stages"][stage.name] = figures
            _told(stage.name, figures)
            if stage.name == "ingest" and _is_measured(figures):
                _same_tables(manifest, read_manifest(work / stage.name))
            if stage.name == "index" and _is_measured(figures):
                result["agreement"] = self._agreement(cell, world, work / stage.name)

    def _stage(
        self,
        stage: Stage,
        cell: Cell,
        places: Mapping[str, str],
        manifest: Manifest,
        before: Mapping[str, Figures],
    ) -> Figures:
        reason = self._reason(stage, cell)
        failed = [name for name in stage.needs if not _is_measured(before.get(name, {}))]
        if reason or failed:
            return {"skipped": reason or f"`{failed[0]}` failed"}
        return measured(stage, places, manifest.settings, Path(places[stage.name]))

    def _agreement(self, cell: Cell, world: Path, index: Path) -> dict[str, Any]:
        entities = read_manifest(world).tables["entities"].rows
        reason = agreement.reason_not_to(entities)
        if reason:
            return {"skipped": reason}
        agree = self.agree if entities <= agreement.LARGEST else self.agree_by_blocks
        found = agree(world, index, cell.seed)
        say(f"  answers: {found['asked']:,} asked, {found['allowed']:,} allowed, none differs")
        return found


def _places(world: Path, stages: Sequence[Stage], work: Path) -> dict[str, str]:
    """The values for the placeholders in the arguments of stages."""
    manifest = read_manifest(world)
    places = {stage.name: str(work / stage.name) for stage in stages}
    tables = world / VERSIONS / str(manifest.version)
    return {**places, "world": str(world), "tables": str(tables), "model": manifest.model}


def _same_tables(drawn: Manifest, ingested: Manifest) -> None:
    """Raises `Void` unless the ingested tables equal the generated ones."""
    for table, content in drawn.tables.items():
        if ingested.tables[table] != content:
            raise Void(f"what was ingested differs from what was drawn: `{table}`")


def _is_measured(figures: Mapping[str, Any]) -> bool:
    return "wall_s" in figures and "failed" not in figures


def _told(name: str, figures: Figures) -> None:
    """Prints a line about a stage."""
    if "skipped" in figures:
        say(f"  {name:<10} left out: {figures['skipped']}")
    elif "failed" in figures:
        say(f"  {name:<10} FAILED after {figures['wall_s']:.1f} s: {figures['failed']}")
    else:
        peak = figures.get("peak_pss_mib") or figures["peak_rss_mib"]
        say(f"  {name:<10} {figures['wall_s']:8.1f} s {peak:9,.0f} MiB")
