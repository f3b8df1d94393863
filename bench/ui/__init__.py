"""What the web pages cost in Chromium, on the sample estate and on a large one."""
