"""What several folders of tests share: references, makers of data, members of crews."""
