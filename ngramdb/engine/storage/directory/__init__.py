"""Where a database's files live: on disk, in memory, or in a memory that fails on purpose."""

from ngramdb.engine.storage.directory.base import Directory, WritableFile, WriterLock
from ngramdb.engine.storage.directory.memory import MemoryDirectory
from ngramdb.engine.storage.directory.real import RealDirectory

__all__ = ["Directory", "MemoryDirectory", "RealDirectory", "WritableFile", "WriterLock"]
