"""Files, folders and streams to documents, with errors that name file and line."""
