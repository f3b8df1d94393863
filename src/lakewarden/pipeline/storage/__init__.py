"""Where the pipeline's files are: all that is read and written goes through this room."""
