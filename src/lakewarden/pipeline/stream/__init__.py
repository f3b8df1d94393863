"""An access index that follows the change feed, micro-batch by micro-batch."""
