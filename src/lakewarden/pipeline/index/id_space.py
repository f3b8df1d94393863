"""The ids of an index: how many there are, their blocks, and the width of columns that hold them.

Ids have 32 bits as long as all of them, and the id after the last, fit; beyond, they have 64. This
concerns what holds for the whole estate. Inside a block an entity is a place among the entities of
the block, and arrays by place have 32 bits in every index.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from pyroaring import BitMap, BitMap64

from lakewarden.kernel.errors import LimitExceeded
from lakewarden.pipeline.parquet_output import arrow_schema

if TYPE_CHECKING:
    from pyspark.sql import Column

Bits = BitMap | BitMap64
"""A set of ids, of 32 or of 64 bits."""

MOST_BLOCKS: Final = (1 << 31) - 1
"""The most blocks: their numbers have 32 bits, and this number stands for every block."""

WIDTH: Final = "id_bits"
"""The fact that tells the width of an index's ids; absent for 32 bits."""

FIRST: Final = "first_id"
"""The fact that tells the first id; absent for 0. Only tests start elsewhere."""


class IdWidth(Enum):
    """The type of a column of ids, for Spark, numpy and Arrow, and of a bitmap of ids."""

    NARROW = 32
    WIDE = 64

    @property
    def sql(self) -> str:
        """The type in a declaration of columns."""
        return "int" if self is IdWidth.NARROW else "long"

    @property
    def dtype(self) -> np.dtype[Any]:
        """The type of an array."""
        return np.dtype(f"int{self.value}")

    @property
    def arrow(self) -> pa.DataType:
        """The type of an Arrow column."""
        return pa.from_numpy_dtype(self.dtype)

    @property
    def most(self) -> int:
        """The largest id, or end, that fits."""
        return int(np.iinfo(self.dtype).max)

    def columns(self, declared: str) -> str:
        """A declaration of columns for Spark, in which `ID` is the type of ids.

        >>> IdWidth.WIDE.columns("kind string, source ID, target ID")
        'kind string, source long, target long'
        """
        return declared.replace(" ID", f" {self.sql}")

    def schema(self, declared: str) -> pa.Schema:
        """The Arrow schema of columns that are declared so."""
        return arrow_schema(self.columns(declared))

    def array(self, ids: NDArray[Any]) -> pa.Array:
        """Ids as an Arrow column."""
        return pa.array(ids.astype(self.dtype))

    @property
    def bitmap_type(self) -> type[BitMap] | type[BitMap64]:
        """The type of a set of ids."""
        return BitMap if self is IdWidth.NARROW else BitMap64

    def bitmap(self, ids: NDArray[Any]) -> Bits:
        """The set of these ids."""
        return self.bitmap_type(ids.astype(f"uint{self.value}"))

    def read_bitmap(self, content: bytes) -> Bits:
        """A set of ids that was stored."""
        return self.bitmap_type.deserialize(content)

    def read_places(self, content: bytes) -> BitMap:
        """A set of ids that was stored, of an index that fits into one process."""
        ids = self.read_bitmap(content)
        return ids if isinstance(ids, BitMap) else BitMap(np.asarray(ids.to_array(), np.uint32))


@dataclass(frozen=True, slots=True)
class IdSpace:
    """The ids from `first` to before `first + count`, in blocks of 2 to the power of `bits`.

    `first` is the first id of a block.
    """

    count: int
    bits: int
    first: int = 0
    width: IdWidth = IdWidth.NARROW

    @staticmethod
    def of(count: int, bits: int, first: int = 0) -> IdSpace:
        """The space of so many ids. Raises `LimitExceeded` if their blocks cannot be numbered."""
        return IdSpace(count, bits, first, width_for(checked_id_count(first + count, bits)))

    @staticmethod
    def in_facts(facts: Mapping[str, Any]) -> IdSpace:
        """The space of the index with these facts."""
        width = IdWidth(facts.get(WIDTH, IdWidth.NARROW.value))
        return IdSpace(int(facts["count"]), int(facts["bits"]), int(facts.get(FIRST, 0)), width)

    def facts(self) -> dict[str, int]:
        """What `in_facts` reads, except `bits`."""
        wide = {} if self.width is IdWidth.NARROW else {WIDTH: self.width.value}
        return {"count": self.count, **wide, **({FIRST: self.first} if self.first else {})}

    @property
    def most(self) -> int:
        """The most ids that it may grow to without being numbered anew."""
        return min(self.width.most, MOST_BLOCKS << self.bits) - self.first

    @property
    def blocks(self) -> range:
        """The numbers of the blocks."""
        start = self.first >> self.bits
        return range(start, start - (-self.count >> self.bits))

    def own(self, block: int) -> tuple[int, int]:
        """The block's own ids: the first, and the one after the last."""
        return block << self.bits, min((block + 1) << self.bits, self.first + self.count)

    def places(self) -> int:
        """The number of ids, for arrays by id in one process.

        Raises `LimitExceeded` for more entities than the kernel numbers.
        """
        most = IdWidth.NARROW.most
        if self.first + self.count > most:
            message = f"{self.count:,} entities, and one process judges at most {most:,}"
            raise LimitExceeded(f"{message}; the jobs that work block by block judge more")
        return self.count


def within(ids: Bits, start: int, stop: int) -> Bits:
    """Those of the ids from `start` to before `stop`."""
    if not ids:
        return ids
    between = range(max(start, ids.min()), min(stop, ids.max() + 1))
    return ids & BitMap(between) if isinstance(ids, BitMap) else ids & BitMap64(between)


def width_for(end: int) -> IdWidth:
    """The width of ids before `end`."""
    return IdWidth.NARROW if end <= IdWidth.NARROW.most else IdWidth.WIDE


def checked_id_count(count: int, bits: int) -> int:
    """The number of ids. Raises `LimitExceeded` if their blocks cannot be numbered."""
    most = MOST_BLOCKS << bits
    if count > most:
        raise LimitExceeded(f"{count:,} entities, and an index has at most {most:,}; divide it")
    return count


def block_number(id: Column | str, bits: int) -> Column:
    """The number of the block of an id, in Spark."""
    from pyspark.sql import functions as F  # noqa: N812 — the usual alias

    return F.shiftright(id, bits).cast("int")
