"""The mapping from names, files and objects to tokenizers."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from importlib import import_module
from typing import TYPE_CHECKING, Any

from ngramdb.errors import CorruptionError, InvalidArgument, NotSupportedError
from ngramdb.lazy import lazy_module, lazy_pattern
from ngramdb.registries import FILE_TOKENIZERS, TOKENIZER_KINDS, canonical_tokenizer
from ngramdb.strict_reading import open_regular
from ngramdb.tokenizers.base import Sections, Tokenizer
from ngramdb.tokenizers.chars import BytesTokenizer, CharsTokenizer, TokensTokenizer
from ngramdb.tokenizers.words import LowerNfcWords, LowerWords, NfcWords, WordsTokenizer

if TYPE_CHECKING:
    import difflib
    import hashlib
    import pathlib

    from ngramdb.tokenizers import callables, json_definitions
else:
    json_definitions = lazy_module("ngramdb.tokenizers.json_definitions")
    callables = lazy_module("ngramdb.tokenizers.callables")
    difflib, hashlib, pathlib = lazy_module("difflib"), lazy_module("hashlib"), lazy_module("pathlib")

# Keys of a tokenizer.json; in a text within it there would be backslashes before the quotes.
_KEYS = (lazy_pattern(rb'"model"\s*:\s*\{'), lazy_pattern(rb'"vocab"\s*:\s*[{[]\s*["[]'))
# A model of SentencePiece begins with its first piece: field 1 of a protocol buffer, of a length.
_FIELD_OF_PIECES = b"\x0a"

_BUILT_IN: dict[str, type[Tokenizer]] = {
    "words": WordsTokenizer,
    "words(lower)": LowerWords,
    "words(nfc)": NfcWords,
    "words(lower, nfc)": LowerNfcWords,
    "chars": CharsTokenizer,
    "bytes": BytesTokenizer,
    "tokens": TokensTokenizer,
}


def create_tokenizer(spec: Any) -> Tokenizer:
    """Return the tokenizer of a new corpus, its vocabulary empty if it grows.

    Parameters - spec : 'words', 'chars', 'bytes', 'tokens'; or the path of a `tokenizer.json`, of a folder
    with one, of a model of SentencePiece, a `tekken.json`, or a file of tiktoken named as its encoding; or an
    object of the libraries `tokenizers`, `transformers` (a fast tokenizer), `tiktoken`, `sentencepiece` or
    `mistral_common`; or a `CallableTokenizer`, or the name of one that is registered.
    Raises InvalidArgument: no such name or file, or the file or object is not a tokenizer.
    """
    if isinstance(spec, str) and canonical_tokenizer(spec) in _BUILT_IN:
        return _BUILT_IN[canonical_tokenizer(spec)]()
    function = callables.registered(spec) if isinstance(spec, str) else spec
    if isinstance(function, callables.CallableTokenizer):
        return callables.CalledTokenizer.of(function)
    if not isinstance(spec, (str, os.PathLike)):
        return _of_object(spec, f"the {type(spec).__name__}")
    path = _file_of(spec)
    if not path.exists():
        raise InvalidArgument(_no_such_tokenizer(os.fspath(spec)))
    try:
        definition = _content_of(path)
    except OSError as error:
        raise InvalidArgument(f"cannot read the tokenizer {path}: {error.strerror}") from error
    return _of_content(definition, str(path))


def unopened(spec: Any) -> bytes | None:
    """Return the content of the tokenizer.json at a path, unparsed; `tokenizer_of_json` parses it.

    None for anything else, and for a file that does not look like one: `create_tokenizer` then returns the
    tokenizer, or raises. Cost: reading the file, a hundredth of the time of `create_tokenizer`.
    """
    if not isinstance(spec, (str, os.PathLike)) or (
        isinstance(spec, str)
        and (canonical_tokenizer(spec) in _BUILT_IN or callables.registered(spec) is not None)
    ):
        return None
    try:
        definition = _content_of(_file_of(spec))
    except OSError:
        return None
    is_whole = definition[:1] == b"{" and definition[-16:].rstrip()[-1:] == b"}"
    return definition if is_whole and all(key.search(definition) for key in _KEYS) else None


def tokenizer_of_json(definition: bytes, source: str) -> Tokenizer:
    """Return the tokenizer of a tokenizer.json; `source` names it in messages. Raises InvalidArgument."""
    made: Tokenizer = _needing_extra("huggingface", source, "tokenizers").HuggingFaceTokenizer(
        definition, source
    )
    return made


def _file_of(spec: str | os.PathLike[str]) -> pathlib.Path:
    path = pathlib.Path(spec)
    return path / "tokenizer.json" if path.is_dir() else path


def _content_of(path: pathlib.Path) -> bytes:
    with open(open_regular(os.fspath(path)), "rb") as file:
        return file.read()


def _of_content(definition: bytes, source: str) -> Tokenizer:
    """Return the tokenizer of a file, by its content. Raises InvalidArgument."""
    name = os.path.basename(source)
    if definition[:1] == _FIELD_OF_PIECES and not definition[1:].lstrip().startswith(b"{"):
        return _from_model(definition, source)
    if json_definitions.is_tiktoken(definition):
        return tokenizer_of_json(json_definitions.from_tiktoken_file(definition, name), source)
    if json_definitions.is_tekken(definition):
        return tokenizer_of_json(json_definitions.from_tekken(definition, name), source)
    return tokenizer_of_json(definition, source)


def _of_object(tokenizer: Any, source: str) -> Tokenizer:
    """Return the tokenizer of an object of another library. Raises InvalidArgument."""
    inner = tokenizer
    for name in ("instruct_tokenizer", "tokenizer"):  # mistral_common nests it in other objects
        inner = getattr(inner, name, inner)
    if hasattr(inner, "serialized_model_proto"):
        return _from_model(inner.serialized_model_proto(), source)
    if hasattr(inner, "_mergeable_ranks") and hasattr(inner, "_pat_str"):
        return tokenizer_of_json(json_definitions.from_tiktoken(inner), source)
    path = getattr(inner, "file_path", None)
    if path is not None and not hasattr(tokenizer, "to_str"):
        return create_tokenizer(os.fspath(path))
    return tokenizer_of_json(_definition_of(tokenizer), source)


def _definition_of(tokenizer: Any) -> bytes:
    """Return the tokenizer.json of an object. Raises InvalidArgument."""
    kind = type(tokenizer).__name__
    to_json = getattr(getattr(tokenizer, "backend_tokenizer", tokenizer), "to_str", None)
    if to_json is None:
        raise InvalidArgument(
            "a tokenizer must be a name, a path, or an object: a tokenizers.Tokenizer, a fast tokenizer of "
            "transformers, a tiktoken.Encoding, a SentencePieceProcessor, mistral_common's tokenizer or an "
            f"ngramdb.CallableTokenizer, not {kind}"
        )
    try:
        return str(to_json()).encode()
    except Exception as error:  # the library raises plain ones
        raise InvalidArgument(f"the {kind} cannot be stored as a tokenizer.json: {error}") from error


def title_of(kind: str, definition: bytes | None) -> str:
    """Return the display name of a tokenizer: its kind; for a tokenizer.json also its model and a short hash.

    >>> title_of("json", b'{"model": {"type": "BPE"}}')
    'json (BPE, 8bb2d91f)'
    """
    if definition is None:
        return kind
    if kind == callables.CalledTokenizer.kind:
        kept = json.loads(definition)
        return f"{kind} ({kept['name']}, {kept['version']})"
    try:
        model = json.loads(definition)["model"]["type"]
    except (ValueError, LookupError, TypeError):  # older files do not name the model
        model = None
    names = [model] if isinstance(model, str) else []
    return f"{kind} ({', '.join([*names, hashlib.sha256(definition).hexdigest()[:8]])})"


def open_tokenizer(
    kind: str, definition: Sections | None = None, vocabulary: Sequence[Sections] = ()
) -> Tokenizer:
    """Open the tokenizer of an existing corpus.

    Parameters - kind : as in the manifest; definition : the open tokenizer file of kind 'json', else None;
    vocabulary : the open vocabulary files of kind 'words', in the manifest's order.
    Raises CorruptionError, FormatVersionError: the files do not make such a tokenizer.
    """
    made = _BUILT_IN.get(kind)
    if made is not None:
        return made.from_files(vocabulary) if issubclass(made, WordsTokenizer) else made()
    if kind not in FILE_TOKENIZERS:
        raise CorruptionError(f"unknown kind of tokenizer {kind!r}", expected=TOKENIZER_KINDS, found=kind)
    if definition is None:
        raise CorruptionError(f"the corpus has a tokenizer of the kind {kind}, but does not name its file")
    path = getattr(definition, "path", None)
    try:
        content, source = definition.array("tokenizer").tobytes(), path or "the stored tokenizer"
        if kind == callables.CalledTokenizer.kind:
            return callables.CalledTokenizer(content, source)
        return tokenizer_of_json(content, source) if kind == "json" else _from_model(content, source)
    except (InvalidArgument, KeyError) as error:
        raise CorruptionError(f"the tokenizer file cannot be used: {error}", path=path) from error


def _from_model(definition: bytes, source: str) -> Tokenizer:
    module = _needing_extra("sentence_piece", source, "sentencepiece")
    made: Tokenizer = module.SentencePieceTokenizer(definition, source)
    return made


def _needing_extra(module: str, source: str, library: str) -> Any:
    """Import a module of this package whose library is an optional extra and takes long to import.

    Raises NotSupportedError if the library is not installed.
    """
    try:
        return import_module(f"ngramdb.tokenizers.{module}")
    except ModuleNotFoundError as error:
        raise NotSupportedError(
            f"{source} needs the library {library}, which is not installed: pip install 'ngramdb[tokenizers]'"
        ) from error


def _no_such_tokenizer(spec: str) -> str:
    choices = ", ".join(repr(name) for name in _BUILT_IN)
    if os.sep in spec or spec.endswith((".json", ".model", ".tiktoken")):
        return f"no such file {spec!r}; a tokenizer is {choices}, or the path of a tokenizer.json"
    near = difflib.get_close_matches(spec.lower(), _BUILT_IN, n=1)
    hint = f" (did you mean {near[0]!r}?)" if near else ""
    return f"unknown tokenizer {spec!r}{hint}; choose {choices}, or the path of a tokenizer.json"
