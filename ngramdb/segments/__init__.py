"""The parts of a segment on disk: builders that write them, readers over the mapped file."""
