"""The client of a server's API, for the command line and for applications."""
