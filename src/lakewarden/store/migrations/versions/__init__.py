"""One module for each step; it says what the tables were then, and is never changed again."""
