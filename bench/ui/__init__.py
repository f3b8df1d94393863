"""The cost of the web pages in Chromium, on the sample estate and on a large one."""
