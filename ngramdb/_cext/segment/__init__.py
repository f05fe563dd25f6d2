"""Questions to one segment, and segments without some of their documents."""
