"""A session of statements and dot commands, which the command line drives, and so does the prompt."""
