"""The command line: parses arguments, calls one function of the Python interface, prints the result."""
