"""The commands of the command line, by subject; a module is imported when one of its commands is run."""
