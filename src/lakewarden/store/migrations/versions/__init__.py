"""One module per step; it defines the tables of its time, and is never changed again."""
