"""Hours of reads, writes, imports and searches on a real server, with an oracle beside it."""
