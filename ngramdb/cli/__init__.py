"""The command line: parses arguments, calls one function of the Python interface, prints the result.

`commands/` has the commands by subject, `shell/` statements, scripts, dot commands and the prompt with its
keys, completion, highlighting and pages, `terminal/` screens, progress and output modes.
"""
