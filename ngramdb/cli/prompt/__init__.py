"""The prompt: editing, completion, highlighting, history and pages, over the command line's shell."""
