"""Settings of the server: read once, from a file, the environment and the command line."""
