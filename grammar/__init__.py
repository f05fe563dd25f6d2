"""The grammar of the query language, as Lark files: syntax only, no Python."""
