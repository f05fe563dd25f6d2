"""The files of a database: its folder, its versions, and the transaction that makes the next one."""
