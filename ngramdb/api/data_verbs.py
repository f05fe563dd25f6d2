"""The verbs of a corpus that add documents, maintain it, or write its documents to files."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING

from ngramdb.api.corpus_handle import CorpusVerbs, commits
from ngramdb.errors import InvalidArgument
from ngramdb.lazy import lazy_module

if TYPE_CHECKING:
    from ngramdb.api import conversion
    from ngramdb.api.verbs import corpora
    from ngramdb.api.verbs.corpora import AnalysisReport
    from ngramdb.engine.changes.compaction import CompactionOutcome
    from ngramdb.engine.changes.removals import RestoreOutcome
    from ngramdb.engine.corpus import infini_gram_files
    from ngramdb.engine.corpus.grouped import WarmedIndex
    from ngramdb.engine.loading import loads
    from ngramdb.engine.loading import request as loading
    from ngramdb.engine.loading.loads import LoadReport
    from ngramdb.engine.loading.writer import LoadCallback
    from ngramdb.ingest.readers import arrow_data
    from ngramdb.interrupts import ProgressCallback
    from ngramdb.planner import parameters
    from ngramdb.planner import parameters as load_options
    from ngramdb.planner.parameters import ParameterValues
    from ngramdb.questions import corpora as copying
    from ngramdb.questions import docs as document_queries
    from ngramdb.questions import to_ast
    from ngramdb.questions.signatures import Documents, LoadOptions, Table, Unpack
else:
    corpora = lazy_module("ngramdb.api.verbs.corpora")
    copying = lazy_module("ngramdb.questions.corpora")
    document_queries = lazy_module("ngramdb.questions.docs")
    infini_gram_files = lazy_module("ngramdb.engine.corpus.infini_gram_files")
    conversion = lazy_module("ngramdb.api.conversion")
    arrow_data = lazy_module("ngramdb.ingest.readers.arrow_data")
    loads = lazy_module("ngramdb.engine.loading.loads")
    loading = lazy_module("ngramdb.engine.loading.request")
    load_options = lazy_module("ngramdb.planner.parameters")
    parameters = lazy_module("ngramdb.planner.parameters")
    to_ast = lazy_module("ngramdb.questions.to_ast")

Path = str | os.PathLike[str]
Paths = Path | Sequence[Path]


class DataVerbs(CorpusVerbs):
    """A base of `ngramdb.Corpus`."""

    # ---- adding documents

    @commits
    def append(
        self,
        docs: Documents,
        progress: LoadCallback | None = None,
        *,
        key: str | None = None,
        on_conflict: str = "error",
    ) -> LoadReport:
        """Add documents in one commit; if any of them fails, none is added.

        Parameters
        ----------
        docs : an iterable of str, dict (`text` or `ids`, everything else is metadata), or `(ids, metadata)`;
            or a table with a column `text` (or `ids`), whose rows are documents: a frame of pandas or polars,
            or any object with `__arrow_c_stream__`; or an iterable of such tables
        progress : called at most ten times per second with the progress of the load
        key : the metadata field, a string or an integer, that identifies a document
        on_conflict : for a document whose key occurred before, in the corpus or in `docs`: 'error'; 'skip'
            leaves it out; 'replace' removes the earlier one in the same commit

        Returns
        -------
        The numbers of documents, tokens and segments that were added, and the new version; with a key also
        those of `duplicates` (left out) and `replaced` documents.

        Raises
        ------
        LoadError
            An item is not a document, or its key is missing, invalid or occurred before; the message has the
            item's position.
        InvalidArgument
            A single document instead of an iterable, a table without such a column, or an iterable of names.
        """
        self._bound.check_whole("append")
        keys = loading.DocumentKeys.of(key, on_conflict)
        # Not the corpus's view as questions use it, which opens every segment.
        database = self._bound.database
        tokenizer = database.snapshot.view(self.name).tokenizer
        documents, errors = conversion.as_documents(docs, tokenizer.kind, tokenizer.n_vocabulary)
        stream = loads.Stream(documents, errors, keys)
        with self._bound.work(), database.change(self.name, f"append to {self.name}") as change:
            return loads.load_stream(change, stream, progress)

    @commits
    def load(
        self,
        paths: Paths | Table,
        text: str | None = None,
        format: str | None = None,
        limit: int | None = None,
        on_error: str = "fail",
        progress: LoadCallback | None = None,
        **options: Unpack[LoadOptions],
    ) -> LoadReport:
        """Add the documents of files in one commit, or in several: COPY … FROM.

        Parameters
        ----------
        paths : files, globs, folders, or '-' for standard input; what gzip, Zstandard, bzip2 or xz has
            compressed is unpacked. Or a table, whose rows are documents: a frame of pandas or polars, or
            whatever else has `__arrow_c_stream__`
        text : path of the JSON field, or the column of a table, with a document's text; "text" when not given
        format : one of `ngramdb.formats.READ` ('jsonl', 'parquet', …); by the files' names and first bytes
            when not given
        limit : the greatest number of documents to read
        on_error : 'fail', or 'skip' to count documents and files that cannot be read, and continue
        progress : called at most ten times per second with the progress of the load
        options : `ids`, `metadata`, `separator`, `dtype`, `quotes`, `max_document_bytes`, `commit_every`,
            `resume`, `key` and `on_conflict`, as COPY takes them

        Raises
        ------
        LoadError, InvalidArgument
            A file or a document that cannot be read (with file and line), or an invalid option.
        """
        self._bound.check_whole("load")
        if not isinstance(on_error, str) or on_error not in ("fail", "skip"):
            raise InvalidArgument(f"on_error must be 'fail' or 'skip', not {on_error!r}")
        given = {**options, "text": text, "format": format, "limit": limit}
        checked = load_options.checked_options(given, load_options.LOAD_OPTIONS)
        database, skip = self._bound.database, on_error == "skip"
        if arrow_data.is_table(paths):
            request = loading.LoadRequest((), skip, **checked)
            with self._bound.work():
                return corpora.load_table(database, self.name, request, paths, progress)
        names = conversion.as_paths(
            paths, "load takes a path, a list of paths or a table (append takes documents)"
        )
        request = loading.LoadRequest(tuple(names), skip, **checked)
        with self._bound.work():
            return corpora.load_files(database, self.name, request, progress)

    # ---- changing the corpus

    @commits
    def compact(self) -> CompactionOutcome:
        """Merge small segments and drop removed documents; answers stay the same: COMPACT.

        Returns
        -------
        The numbers of segments and bytes before and after, and the new version.

        Notes
        -----
        Cost: 30 to 130 ns per token of the segments that are merged; 5 ns per row if one is filtered.
        """
        self._bound.check_whole("compact")
        bound = self._bound
        with bound.work(), bound.database.change(self.name, f"compact {self.name}") as change:
            return change.compact()

    def warm(self, progress: ProgressCallback | None = None) -> WarmedIndex:
        """Read as much of the index as fits into memory, so that queries need not wait for the disk.

        Checksums are verified, too. Other processes benefit as well, but verify for themselves.
        `SET prewarm = 'on'` does the same at the first query.

        Parameters
        ----------
        progress : callable, optional
            Called at most ten times per second with the work, whose `fraction` is the part that is done.

        Raises
        ------
        QueryCancelled
            Interrupted; the part that has been read stays in memory.
        """
        self._bound.check_whole("warm")
        with self._bound.database.work(progress=progress):
            return self._bound.current().warm()

    @commits
    def restore(self, version: int | str) -> RestoreOutcome:
        """Return to the documents of an earlier version, in one commit: RESTORE CORPUS … TO VERSION.

        Parameters
        ----------
        version : a version that is still kept, by its number or the name that `Connection.keep_version` gave
            it; `SHOW VERSIONS` lists them

        Raises
        ------
        BindError
            The version is not kept, or lacks the corpus.
        InvalidArgument
            The version is neither a whole number nor a str.

        Notes
        -----
        Cost: one manifest; no file of the corpus is touched.
        """
        self._bound.check_whole("restore")
        with self._bound.work():
            session = self._bound.session()
            number = to_ast.version_number(version, session.version_number)
            return session.run_restore(self.name, number)

    @commits
    def analyze(self, order: int | None = None) -> AnalysisReport:
        """Count the counts of counts that Kneser-Ney's discounts are estimated from, and store them: ANALYZE.

        One commit; a no-op if the corpus has not changed since, and no other order is given. Without it they
        are counted in memory when they are first needed.

        Parameters
        ----------
        order : the greatest length of n-grams with separate discounts, 2 to 1,000; by default 10, or 50
            where tokens are characters or bytes. Longer n-grams reuse the last that could be estimated.

        Raises
        ------
        InvalidArgument
            An order that is not a whole number from 2 to 1,000.

        Notes
        -----
        Cost: a pass over the index, less than building it. Source: Chen & Goodman 1999, section 3.
        """
        self._bound.check_whole("analyze")
        with self._bound.work():
            return corpora.analyze(self._bound.database, self.name, order)

    # ---- files

    def export(
        self,
        path: Path,
        where: str | None = None,
        *,
        format: str | None = None,
        separator: int | None = None,
        dtype: str | None = None,
        params: ParameterValues = None,
    ) -> int:
        """Write the documents that meet a condition (all without one) to a file: COPY (DOCS …) TO.

        Text and metadata are those that were loaded. The file appears under its name when it is complete.

        Parameters
        ----------
        path : the file
        where, params : a condition as after WHERE
        format : 'jsonl' (compressed if the name ends in .gz, .zst, .bz2 or .xz) or 'parquet'; by
            default from the name. 'megatron' and 'nanogpt' are files of token ids for training: `x.bin` with
            `x.idx`, and `x.bin` alone; only for tokenizers with fixed ids, so not for 'words' and 'chars'
        separator : files of token ids: the id after each document, which nanogpt needs
        dtype : files of token ids: 'uint16', 'uint32' or 'int32'; by the vocabulary when not given

        Returns
        -------
        The number of documents.

        Raises
        ------
        ExecutionError, InvalidArgument
            A file that cannot be written, of which nothing remains, or an unknown format.
        """
        view = self._bound.current()
        found, phrases = self._bound.condition(where, params, view)
        documents = document_queries.Documents(view, found)
        given = {"format": format, "separator": separator, "dtype": dtype}
        options = parameters.checked_options(given, parameters.EXPORT_OPTIONS)
        name = conversion.as_path(path)
        return self._bound.number(copying.ExportDocuments(documents, name, options, phrases=phrases))

    def export_infini_gram(
        self,
        folder: Path,
        *,
        version: int = 4,
        shards: int = 1,
        token_dtype: str | None = None,
    ) -> int:
        """Write the corpus as an index that infini-gram reads; the number of documents.

        The folder is made, with everything in it or not at all.

        Parameters
        ----------
        version : 4, or 5, whose documents are reversed
        shards : the number of shards, which get documents in turn
        token_dtype : 'u8', 'u16' or 'u32'; by the largest token id when not given

        Raises
        ------
        InvalidArgument
            The folder is there already, token ids do not fit, or an argument that makes no sense.
        ExecutionError
            The files cannot be written.

        Notes
        -----
        Cost: that of building an index; about 20 bytes of memory a token of a shard.
        """
        layout = infini_gram_files.Layout(version, shards, token_dtype)
        with self._bound.work():
            return infini_gram_files.write_index(self._bound.current(), conversion.as_path(folder), layout)
