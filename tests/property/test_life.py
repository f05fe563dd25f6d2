"""The life of a database as a state machine: whatever is done in whatever order, it holds what a dictionary
holds."""

from __future__ import annotations

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule
from support.reference import occurrences

from ngramdb.api.connection import Connection
from ngramdb.api.database import Database
from ngramdb.engine.storage.directory import MemoryDirectory
from ngramdb.engine.storage.files import KINDS
from ngramdb.engine.storage.store import Store
from ngramdb.errors import BindError

NGRAMS = [[1], [1, 2], [2, 1], [3, 3], []]

DOCUMENTS = st.lists(st.lists(st.integers(1, 3), max_size=5), min_size=1, max_size=4)


class Life(RuleBasedStateMachine):
    """`left` has the documents that count, by id, `versions` those of each version; `removed` are ids."""

    @initialize()
    def begin(self):
        self.directory = MemoryDirectory()
        self.left: dict[int, list[int]] = {}
        self.next_id = 0
        self.removed: list[int] = []
        self.readers: list[tuple[Connection, dict[int, list[int]]]] = []
        self.db = Connection(Database(Store.open(self.directory)))
        self.db.create_corpus("c", tokenizer="tokens")
        self.versions = {self.db.version: {}}

    def changed(self):
        self.versions[self.db.version] = dict(self.left)

    @rule(documents=DOCUMENTS, auto_compact=st.booleans())
    def append(self, documents, auto_compact):
        self.db.settings["auto_compact"] = auto_compact
        self.db.corpus("c").append([(ids, {"n": len(ids)}) for ids in documents])
        self.left.update(enumerate(documents, self.next_id))
        self.next_id += len(documents)
        self.changed()

    @rule(ngram=st.sampled_from(NGRAMS[:4]))
    def delete_by_ngram(self, ngram):
        gone = [i for i, document in self.left.items() if occurrences(document, ngram)]
        assert self.db.corpus("c").delete("?", params=[ngram]) == len(gone)
        for i in gone:
            del self.left[i]
        self.removed += gone
        self.changed()

    @precondition(lambda self: self.left)
    @rule(data=st.data())
    def delete_by_id(self, data):
        doc_id = data.draw(st.sampled_from(sorted(self.left)))
        assert self.db.corpus("c").delete("doc_id = ?", params=[doc_id]) == 1
        del self.left[doc_id]
        self.removed.append(doc_id)
        self.changed()

    @rule()
    def compact(self):
        self.db.corpus("c").compact()
        self.changed()

    @rule(data=st.data(), dropped=st.sampled_from(["no", "yes", "and made anew"]))
    def restore(self, data, dropped):
        version = data.draw(st.sampled_from(sorted(self.versions)))
        if dropped != "no":
            self.db.drop_corpus("c")
        if dropped == "and made anew":
            self.db.create_corpus("c", tokenizer="tokens").append([([3, 3, 3], {})])
            with pytest.raises(BindError, match="is a new corpus now"):
                self.db.execute(f"RESTORE CORPUS c TO VERSION {version}")
            self.db.drop_corpus("c")
        self.db.execute(f"RESTORE CORPUS c TO VERSION {version}")
        self.left = dict(self.versions[version])
        self.changed()

    @rule()
    def reopen(self):
        self.db.close()
        self.db = Connection(Database(Store.open(self.directory)))

    @rule()
    def begin_reading(self):
        """A reader that stays on its version."""
        reader = Connection(Database(Store.open(self.directory, read_only=True)))
        self.readers.append((reader, dict(self.left)))

    @precondition(lambda self: self.readers)
    @rule()
    def read_on(self):
        reader, expected = self.readers.pop(0)
        view = reader.snapshot.view("c")
        assert [view.index.count(ngram) for ngram in NGRAMS] == counts(expected)
        reader.close()

    @invariant()
    def answers_are_those_of_the_dictionary(self):
        if not hasattr(self, "db"):
            return
        c = self.db.corpus("c")
        assert [c.count(ngram) for ngram in NGRAMS] == counts(self.left)
        rows = self.db.execute("DOCS").fetchall()
        assert [row[0] for row in rows] == sorted(self.left)
        assert sorted(document.doc_id for document in c.removed_documents()) == sorted(self.removed)
        assert c.count_docs("[1, 2]") == sum(occurrences(one, [1, 2]) > 0 for one in self.left.values())

    def teardown(self):
        if hasattr(self, "db"):
            assert self.db.execute("CHECK").fetchall() == []
            for version, expected in self.versions.items():
                view = self.db.snapshot.view("c", version)
                assert [view.index.count(ngram) for ngram in NGRAMS] == counts(expected)
            self.db.close()


class TokenIds(RuleBasedStateMachine):
    """`words` has the word of each id that was ever assigned: it never becomes the id of another word."""

    @initialize()
    def begin(self):
        self.directory = MemoryDirectory()
        self.words: list[str] = []
        self.db = Connection(Database(Store.open(self.directory)))
        self.db.create_corpus("c")
        self.versions = [self.db.version]

    @rule(words=st.lists(st.sampled_from("abcdefgh"), min_size=1, max_size=3))
    def append(self, words):
        self.db.corpus("c").append([" ".join(words)])
        self.words += [word for word in dict.fromkeys(words) if word not in self.words]
        self.versions.append(self.db.version)

    @precondition(lambda self: self.words)
    @rule(data=st.data())
    def delete(self, data):
        self.db.corpus("c").delete("?", params=[data.draw(st.sampled_from(self.words))])
        self.versions.append(self.db.version)

    @rule()
    def compact(self):
        self.db.corpus("c").compact()

    @rule(data=st.data(), dropped=st.booleans())
    def restore(self, data, dropped):
        if dropped:
            self.db.drop_corpus("c")
        self.db.execute(f"RESTORE CORPUS c TO VERSION {data.draw(st.sampled_from(self.versions))}")

    @rule()
    def reopen(self):
        self.db.close()
        self.db = Connection(Database(Store.open(self.directory)))

    @invariant()
    def ids_keep_their_words(self):
        if not hasattr(self, "db"):
            return
        tokenizer = self.db.corpus("c").tokenizer
        assert [tokenizer.token_text(i) for i in range(tokenizer.n_vocabulary)] == self.words

    def teardown(self):
        if hasattr(self, "db"):
            assert self.db.execute("CHECK").fetchall() == []
            self.db.close()


class Names(RuleBasedStateMachine):
    """Versions that are kept by name, beside the last two: `names` has their documents."""

    @initialize()
    def begin(self):
        self.directory = MemoryDirectory()
        self.left: dict[int, list[int]] = {}
        self.next_id = 0
        self.names: dict[str, tuple[int, dict[int, list[int]]]] = {}
        self.open()
        self.db.create_corpus("c", tokenizer="tokens")

    def open(self):
        self.db = Connection(Database(Store.open(self.directory)))
        self.db.settings["keep_versions"] = 2

    @rule(documents=DOCUMENTS)
    def append(self, documents):
        self.db.corpus("c").append([(ids, {}) for ids in documents])
        self.left.update(enumerate(documents, self.next_id))
        self.next_id += len(documents)

    @rule(ngram=st.sampled_from(NGRAMS[:4]))
    def delete(self, ngram):
        self.db.corpus("c").delete("?", params=[ngram])
        self.left = {i: one for i, one in self.left.items() if not occurrences(one, ngram)}

    @rule()
    def compact(self):
        self.db.corpus("c").compact()

    @rule(name=st.sampled_from("abc"))
    def keep(self, name):
        version = self.db.version
        if name in self.names:
            with pytest.raises(BindError, match=f"version {self.names[name][0]} is kept as '{name}' already"):
                self.db.keep_version(name)
        else:
            assert self.db.keep_version(name) == version
            self.names[name] = version, dict(self.left)

    @precondition(lambda self: self.names)
    @rule(data=st.data())
    def keep_again(self, data):
        """A name more for a version that has one."""
        version, documents = self.names[data.draw(st.sampled_from(sorted(self.names)))]
        if "d" not in self.names:
            assert self.db.keep_version("d", version) == version
            self.names["d"] = version, documents

    @precondition(lambda self: self.names)
    @rule(data=st.data())
    def drop(self, data):
        name = data.draw(st.sampled_from(sorted(self.names)))
        self.db.drop_version(name)
        del self.names[name]

    @precondition(lambda self: self.names)
    @rule(data=st.data(), dropped=st.booleans())
    def restore(self, data, dropped):
        name = data.draw(st.sampled_from(sorted(self.names)))
        corpus = self.db.corpus("c")
        if dropped:
            self.db.drop_corpus("c")
            self.db.execute("RESTORE CORPUS c TO VERSION ?", [name])
        else:
            corpus.restore(name)
        self.left = dict(self.names[name][1])

    @rule()
    def reopen(self):
        self.db.close()
        self.open()

    @invariant()
    def names_give_their_documents(self):
        if not hasattr(self, "db"):
            return
        assert [self.db.corpus("c").count(ngram) for ngram in NGRAMS] == counts(self.left)
        shown = self.db.execute("SHOW VERSIONS").to_dicts()
        by_name = {
            name: row["version"] for row in shown for name in (row["kept_as"] or "").split(", ") if name
        }
        assert by_name == {name: version for name, (version, _) in self.names.items()}
        for name, (_, documents) in self.names.items():
            found = [self.db.execute("COUNT ? FROM c AT VERSION ?", [n, name]).fetchone()[0] for n in NGRAMS]
            assert found == counts(documents)

    def teardown(self):
        if hasattr(self, "db"):
            assert self.db.execute("CHECK").fetchall() == []
            self.db.close()
            store = Store.open(self.directory)
            with store.begin():  # removes what nobody needs
                needed = {name for manifest in store.versions() for name in manifest.files()}
            data = [name for name in self.directory.list() if name.split("/")[0] in KINDS]
            assert set(data) == needed


def counts(documents):
    return [sum(occurrences(one, ngram) for one in documents.values()) for ngram in NGRAMS]


Life.TestCase.settings = settings(max_examples=20, stateful_step_count=20, deadline=None, derandomize=True)
TestLife = Life.TestCase
TokenIds.TestCase.settings = Life.TestCase.settings
TestTokenIds = TokenIds.TestCase
Names.TestCase.settings = Life.TestCase.settings
TestNames = Names.TestCase
