"""The database: numbered, immutable versions of a set of files, and what makes the next one."""
