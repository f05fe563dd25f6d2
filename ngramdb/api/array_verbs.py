"""The verbs of a corpus that take or return arrays, one call for many questions, and those of its models."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec, TypeVar

import numpy as np
from numpy.typing import NDArray

from ngramdb.api.corpus_handle import CorpusVerbs
from ngramdb.errors import InvalidArgument, NgramdbError, QueryCancelled, name_item
from ngramdb.interrupts import check
from ngramdb.lazy import lazy_module
from ngramdb.limits import MAX_INTEGER
from ngramdb.types import checked_flags

if TYPE_CHECKING:
    from ngramdb.api import conversion
    from ngramdb.api.verbs import evaluation, ngram_files, quoting
    from ngramdb.api.verbs.quoting import Quotation
    from ngramdb.lm import matching, of_corpora
    from ngramdb.lm.evaluation import Agreement, Perplexity, Progress
    from ngramdb.lm.generation import Draft
    from ngramdb.lm.matching import Matcher
    from ngramdb.lm.models import LanguageModel
    from ngramdb.lm.ngram_rows import Classes, NgramRows
    from ngramdb.planner.parameters import ParameterValues
    from ngramdb.questions import (
        count,
        document_columns,
        packing,
        results,
        to_ast,
        trace,
        verbs,
    )
    from ngramdb.questions.results import (
        Spans,
        StoredDocument,
    )
    from ngramdb.questions.signatures import Documents, ModelLike, Ngram, Ngrams
else:
    evaluation = lazy_module("ngramdb.api.verbs.evaluation")
    ngram_files = lazy_module("ngramdb.api.verbs.ngram_files")
    quoting = lazy_module("ngramdb.api.verbs.quoting")
    conversion = lazy_module("ngramdb.api.conversion")
    document_columns = lazy_module("ngramdb.questions.document_columns")
    of_corpora = lazy_module("ngramdb.lm.of_corpora")
    matching = lazy_module("ngramdb.lm.matching")
    count = lazy_module("ngramdb.questions.count")
    packing = lazy_module("ngramdb.questions.packing")
    verbs = lazy_module("ngramdb.questions.verbs")
    results = lazy_module("ngramdb.questions.results")
    trace = lazy_module("ngramdb.questions.trace")
    to_ast = lazy_module("ngramdb.questions.to_ast")


Item = TypeVar("Item")
Given = ParamSpec("Given")
Answer = TypeVar("Answer")


class ArrayVerbs(CorpusVerbs):
    """A base of `ngramdb.Corpus`."""

    def _among(self, where: str | None, params: ParameterValues) -> ArrayVerbs:
        raise NotImplementedError

    def batch(
        self,
        verb: Callable[Concatenate[Any, Item, Given], Answer],
        items: Iterable[Item],
        *args: Given.args,
        **named: Given.kwargs,
    ) -> list[Answer]:
        """Call a verb for each of many texts or n-grams: on a corpus of a server, in few requests.

        ```
        for spans in corpus.batch(ngramdb.Corpus.trace_arrays, answers, min_length=8):
            ...
        ```

        Parameters
        ----------
        verb : a method of `ngramdb.Corpus`
        items : its first argument in each call
        args, named : its further arguments in all calls

        Returns
        -------
        The answers, in the order of the items.

        Raises
        ------
        NgramdbError
            The first error of a call; its message begins with the index of the item, counted from 0.

        Notes
        -----
        Cost here: that of the calls; `count_many`, `score_many` and the like are faster. On a server, one
        request for 256 items.
        """
        found = []
        with self._bound.work():
            for index, item in enumerate(items):
                check()
                try:
                    found.append(verb(self, item, *args, **named))
                except QueryCancelled:
                    raise
                except NgramdbError as error:
                    name_item(error, index)
                    raise
        return found

    # ---- documents and spans

    def document(self, doc_id: int) -> StoredDocument:
        """Read one document: its text, metadata and token ids.

        Parameters
        ----------
        doc_id : its id, as tables show it

        Raises
        ------
        InvalidArgument
            No document has this id.
        """
        with self._bound.work():
            return document_columns.document(self._bound.current(), doc_id)

    def trace_arrays(self, text: Ngram, min_length: int = 1) -> Spans:
        """Return the spans of `trace` as arrays, without their documents.

        Parameters
        ----------
        text : text or token ids
        min_length : the least number of tokens of a span

        Returns
        -------
        `starts`, `lengths` and `counts`, (k,) int64 each.
        """
        min_length = to_ast.whole(1, "min_length", min_length)
        view = self._bound.current()
        with self._bound.work():
            ids = self._bound.passage(text)
            found = trace.maximal_spans(trace.longest_matches(view.index, ids), min_length)
        return results.Spans(found.starts, found.stops - found.starts, found.counts)

    def match_lengths(self, text: Ngram) -> NDArray[np.int64]:
        """Measure, for each token of a text, the longest n-gram of the corpus that begins there.

        Parameters
        ----------
        text : text or token ids

        Returns
        -------
        (n,) int64 : lengths in tokens; 0 if the token itself does not occur

        Notes
        -----
        Cost: about a microsecond per token and segment.
        """
        view = self._bound.current()
        with self._bound.work():
            ids = self._bound.passage(text)
            return trace.match_ends(trace.longest_matches(view.index, ids)) - np.arange(len(ids))

    # ---- many questions at once

    def count_many(self, ngrams: Ngrams) -> NDArray[np.int64]:
        """Count many n-grams in one kernel call with the GIL released.

        Parameters
        ----------
        ngrams : a list of n-grams, or a pair `(flat ids, offsets)` of arrays; the setting `match` applies
            to texts

        Returns
        -------
        (n,) int64

        Raises
        ------
        InvalidArgument
            Offsets that do not rise from 0 to the number of ids, or an invalid n-gram; the message has its
            position.

        Notes
        -----
        Cost: about 0.1 to 0.3 µs per n-gram and segment; large batches use all free cores. If the setting
        `match` is not `tokens`, a list with texts costs one COUNT for each n-gram.
        """
        view = self._bound.current()
        ngrams = packing.listed(ngrams)
        matched = self._bound.database.settings.match != "tokens"
        if matched and isinstance(ngrams, list) and any(isinstance(ngram, str) for ngram in ngrams):
            return count.count_as_set(self._bound, ngrams)
        with self._bound.work():
            flat, offsets = packing.pack(ngrams, self._bound.encode_ngram, packing.unchecked_ids)
            try:
                counts: NDArray[np.int64] = view.index.count_many(flat, offsets)
            except ValueError:
                packing.pack(ngrams, self._bound.encode_ngram)  # names the first invalid id
                raise
        if isinstance(ngrams, list) and not counts.all():
            verbs.warn_of_many(view, ngrams, np.flatnonzero(counts == 0))
        return counts

    @checked_flags
    def language_model(
        self, model: ModelLike = "kneser_ney", *, sentences: bool = False, reuse_discounts: bool = False
    ) -> LanguageModel:
        """Return a model of the corpus's current version, as `ngramdb.lm.make` does.

        Its methods take and return token ids and arrays, including `<s>` and `</s>` (`ngramdb.lm.BEGIN` and
        `END`). It stays at this version, also after later commits.

        Parameters
        ----------
        model : as `prob` takes it
        sentences : make a model of the corpus whose documents are the sentences of this one, as `score` with
            `sentence` uses it; its `index.separator` ends sentences inside texts
        reuse_discounts : Kneser-Ney discounts that cannot be estimated are those of the last shorter length
            for which they can (Shareghi et al. 2016), not KenLM's 0.5, 1 and 1.5

        Raises
        ------
        InvalidArgument
            An unknown model, or `reuse_discounts` for another one than Kneser-Ney.
        PlanError, ResourceError
            As `score` raises them with `sentence`.
        """
        with self._bound.work():
            view = packing.corpus_for("sentence" if sentences else None, self._bound)
            spec = to_ast.as_model(model)
            if reuse_discounts:
                return of_corpora.reusing_discounts(view, spec)
            return of_corpora.language_model(view, spec)

    @checked_flags
    def matcher(
        self,
        text: Ngram = (),
        *,
        model: ModelLike | None = None,
        document: bool = False,
        least_count: int = 1,
        where: str | None = None,
        params: ParameterValues = None,
    ) -> Matcher:
        """Return the state of a growing text: its longest suffix that occurs, and what follows.

        It stays at the corpus's current version until its method `refresh` is called.

        Parameters
        ----------
        text : its beginning, text or token ids
        model : as `prob` takes it; the matcher then also gives every token's probability under the model
        document : the model reads a document: the text follows `<s>`
        least_count : how often a suffix must occur
        where, params : the matcher is of the documents that meet this condition, as `prob` takes them

        Returns
        -------
        A matcher, with `append`, `length`, `count`, `next`, `prob`, `score`, `copy`, `refresh` and `clear`;
        `ngramdb.lm.append_many` appends a token to each of many.

        Notes
        -----
        Cost: about a microsecond for each token that is appended, and segment.
        """
        least_count = min(to_ast.whole(1, "least_count", least_count), MAX_INTEGER)
        bound = self._among(where, params)._bound
        with bound.work():
            made = matching.matcher(
                bound.current, least_count, to_ast.as_model(model) if model else None, document
            )
            if isinstance(text, str) and text:
                verbs.warn_of(bound.view, text)
            return made.append(text)

    def draft(self, given: Ngram, n: int, *, least_prob: float = 0.0, least_count: int = 1) -> Draft:
        """Return the most frequent continuation, for a larger model to check (speculative decoding).

        Each token is the most frequent one after the longest suffix of the context that occurs.

        Parameters
        ----------
        given : the context, text or token ids
        n : the greatest number of tokens
        least_prob : stop before a token that is less probable
        least_count : use shorter suffixes until one occurs this often; a suffix that occurs once predicts its
            successor with probability 1

        Returns
        -------
        `ids`, `probs` and `effective_n` are arrays, `confidence` is the product of the probabilities.
        """
        view = self._bound.current()
        if isinstance(given, str):
            verbs.warn_of(view, given)
        with self._bound.work():
            return evaluation.draft(view, self._bound.ids(given), n, least_prob, least_count)

    def quotations(
        self,
        text: str,
        *,
        document: int | None = None,
        docs: int = 10,
        where: str | None = None,
        params: ParameterValues = None,
    ) -> list[Quotation]:
        """Check the quotations of a text, such as an answer: whether documents have them, and which.

        Text between quotation marks is searched in the texts of documents, word for word; case, white space,
        the kinds of quotation marks and of dashes, and punctuation at its end do not matter. Of a quotation
        with an ellipsis, a document must have all parts.

        Parameters
        ----------
        text : the text with quotations
        document : the id of the document that it cites
        docs : the greatest number of documents that are listed for each quotation
        where, params : only documents that meet this condition count, as `Corpus.where`

        Returns
        -------
        In the order of the text; `status` is 'found', 'elsewhere' (in another document than the cited one),
        'patched' (all of it in pieces of four words and more, but in no document as a whole) or 'absent'.

        Raises
        ------
        PlanError
            The corpus has no texts.

        Notes
        -----
        Cost: some milliseconds for each quotation that the cited document has, or that a document has with
        the same tokens in a part of it. Any other takes a search by `TEXT ~ … IGNORE CASE`, an absent one
        several: each some milliseconds, or with a sub-word tokenizer up to some tenths of a second.
        """
        docs = to_ast.whole(1, "docs", docs)
        document = to_ast.at_least(0, "document", document)
        if not isinstance(text, str):
            raise InvalidArgument(f"quotations are those of a text, not of {type(text).__name__}")
        among = self._among(where, params)
        with among._bound.work():
            is_broken = any(segment.n_breaks for segment in among._bound.current().segments)
            return quoting.check(among, text, document, docs, is_broken)

    @checked_flags
    def perplexity(
        self,
        docs: Documents,
        model: ModelLike = "kneser_ney",
        *,
        document: bool | None = None,
        sentence: bool | None = None,
        progress: Progress | None = None,
        where: str | None = None,
        params: ParameterValues = None,
    ) -> Perplexity:
        """Measure the perplexity of documents under a model, with out-of-vocabulary words and without.

        Parameters
        ----------
        docs : texts, sequences of token ids, dicts with `text` or `ids`
        model : as `prob` takes it
        document, sentence : as `score` takes them; documents if neither is given
        progress : called after each batch with the numbers of documents and tokens so far
        where, params : the model is of the documents that meet this condition, as `prob` takes them

        Returns
        -------
        An object with `perplexity`, `perplexity_known` (known words only), `per_document`, `n_tokens`,
        `n_unknown`, `n_zero`, `bits_per_byte`, `bits_per_character`, …: `ngramdb.lm.Perplexity`.
        """
        unit = packing.unit_of(document, sentence, "document")
        bound = self._among(where, params)._bound
        with bound.work():
            view = packing.corpus_for(unit, bound)
            used = of_corpora.language_model(view, to_ast.as_model(model))
            return evaluation.perplexity(used, view, docs, unit, progress)

    @checked_flags
    def agreement(
        self,
        docs: Documents,
        model: ModelLike = "infgram",
        *,
        document: bool = False,
        sentence: bool = False,
        skip: int = 0,
        progress: Progress | None = None,
        where: str | None = None,
        params: ParameterValues = None,
    ) -> Agreement:
        """Count the tokens of documents that a model gives a probability above one half, by effective n.

        Parameters
        ----------
        docs, model, progress, where, params : as `perplexity` takes them
        document, sentence : as `score` takes them
        skip : the number of tokens at the start of each document, a prompt for example, that are context only

        Returns
        -------
        An `ngramdb.lm.Agreement`: `share` of all tokens, `n_tokens` and `n_agreeing` by effective n, and the
        same for sparse estimates alone.

        Notes
        -----
        Source: Liu et al. 2024, section 4.
        """
        unit = packing.unit_of(document, sentence)
        bound = self._among(where, params)._bound
        with bound.work():
            view = packing.corpus_for(unit, bound)
            used = of_corpora.language_model(view, to_ast.as_model(model))
            return evaluation.agreement(used, view, docs, unit, skip, progress)

    def export_ngrams(
        self,
        path: str | os.PathLike[str],
        n: int | tuple[int, int],
        *,
        min_count: int = 1,
        map: Classes = None,
        slots: int | None = None,
    ) -> list[NgramRows]:
        """Write the frequent n-grams of classes of tokens to a Parquet file, for tables of neural models.

        Its columns are `n`, `classes` and `count`; n-grams of each length are in descending order of `count`.

        Parameters
        ----------
        path : the file, which ends in .parquet
        n : tokens of an n-gram, or a pair, the least and the greatest number
        min_count : the least occurrences of an n-gram of classes that is written
        map : the class of each token: an array or list, by id; a mapping from ids; the path of a JSON file
            with either; or a function of a token's text, such as `str.lower`: tokens with equal results are
            a class, whose number is the least of their ids. n-grams with a token that has no class, or null,
            are left out. None: each token is a class
        slots : rows of a table in which the collisions of what is written are counted

        Returns
        -------
        For each length the numbers of n-grams, the share of all occurrences that the most frequent ones have,
        and collisions.

        Raises
        ------
        InvalidArgument
            An invalid option.

        Notes
        -----
        Cost: about a microsecond and 50 bytes of memory per n-gram of tokens.
        """
        view = self._bound.current()
        with self._bound.work():
            return ngram_files.export_ngrams(view, conversion.as_path(path), n, min_count, map, slots)

    def export_arpa(
        self,
        path: str | os.PathLike[str],
        order: int,
        *,
        min_count: int | Sequence[int] = 1,
        prune: str | None = None,
        symbols: str = "text",
    ) -> list[int]:
        r"""Write the Kneser-Ney model of an order as an ARPA file.

        The file appears under its name when it is complete; it is compressed if the name ends in .gz, .zst,
        .bz2 or .xz.

        Parameters
        ----------
        path : the file
        order : the greatest length of n-grams, at least 2
        min_count : the least occurrences of n-grams that are written: a number for all lengths from 2 on, or
            the numbers of lengths 1, 2, …, of which the last applies to longer ones, too; the first is 1
        prune : 'entropy:1e-8' leaves out n-grams if perplexity grows by less than that share without them
        symbols : 'text', or 'nemo': a token is the character with the number of its id plus 100, as NVIDIA
            NeMo's models expect it

        Returns
        -------
        The numbers of n-grams of each length.

        Raises
        ------
        InvalidArgument
            An order below 2, or an invalid option.

        Notes
        -----
        A blank in a token is written as `▁`, other white space as `\u000a`; a token without text, or with the
        text of another one or of `<s>`, `</s>` and `<unk>`, as its id: `id:17`.

        Cost: about half a microsecond and 25 bytes of memory per n-gram; the file is written in pieces.
        """
        view = self._bound.current()
        with self._bound.work():
            options: dict[str, Any] = {"min_count": min_count, "prune": prune, "symbols": symbols}
            return evaluation.export_arpa(view, conversion.as_path(path), order, **options)
