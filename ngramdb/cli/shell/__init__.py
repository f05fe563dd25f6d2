"""A session of statements and dot commands, which the command line and the prompt both drive."""
