"""Code shared by several folders of tests: references, makers of data, members of crews."""
