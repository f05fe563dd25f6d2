"""Rules of the grammar for data statements, settings and SHOW."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from ngramdb.language import ast
from ngramdb.language.parts import (
    UNIT,
    Clause,
    ConditionRules,
    Lexeme,
    Nested,
    clause_of,
    clauses_of,
    fields_of,
    flag_clause,
    has_terminal,
    is_terminal,
    lowered,
    name_of,
    node_of,
    operator_of,
    span_of,
    start_of,
    statement_of,
    stop_of,
    valued_clause,
)
from ngramdb.language.scanner import Fault


class DataRules:
    """One method per rule, called with the rule's tokens and the values of its parts."""

    def create_corpus(self, children: list[Any]) -> ast.CreateCorpus:
        return statement_of(ast.CreateCorpus, children, name=name_of(children[2:]))

    def as_documents(self, children: list[Any]) -> Clause:
        return clause_of("AS", children[2], children)

    def copy_from(self, children: list[Any]) -> ast.CopyFrom:
        return statement_of(ast.CopyFrom, children, corpus=children[1].node, path=children[3].node)

    def copy_to(self, children: list[Any]) -> ast.CopyTo:
        return statement_of(ast.CopyTo, children, question=children[2], path=children[5].node)

    def delete(self, children: list[Any]) -> ast.Delete:
        if "WHERE" not in clauses_of(children):
            message = "DELETE DOCS needs to know which: WHERE …; DROP CORPUS removes all of a corpus"
            raise Fault(message, start_of(children[0]), stop_of(children[1]))
        return statement_of(ast.Delete, children)

    def delete_duplicates(self, children: list[Any]) -> ast.DeleteDuplicates:
        return statement_of(ast.DeleteDuplicates, children)

    def cut_duplicates(self, children: list[Any]) -> ast.CutDuplicates:
        return statement_of(ast.CutDuplicates, children)

    def cut_spans(self, children: list[Any]) -> ast.CutSpans:
        if "WHERE" not in clauses_of(children):
            message = "CUT SPANS needs to know which: WHERE and an n-gram or another pattern"
            raise Fault(message, start_of(children[0]), stop_of(children[1]))
        return statement_of(ast.CutSpans, children)

    around_spans = valued_clause("CONTEXT")

    def on_borders(self, children: list[Any]) -> Clause:
        return clause_of("ON", children[1].type.lower(), children)

    gap_share = valued_clause("GAP SHARE")
    min_rest = valued_clause("MIN REST")
    max_pieces = valued_clause("MAX PIECES")
    replaced = valued_clause("REPLACE")

    def delete_near_duplicates(self, children: list[Any]) -> ast.DeleteNearDuplicates:
        return statement_of(ast.DeleteNearDuplicates, children)

    def decontaminate(self, children: list[Any]) -> ast.Decontaminate:
        return statement_of(ast.Decontaminate, children, path=node_of(children[2]))

    def by_contamination(self, children: list[Any]) -> Clause:
        # After the name: the length of n-grams in parentheses, a comparison, both or neither.
        n = children[3].node if has_terminal(children[2:3], "LPAR") else None
        rest = children[5:] if n is not None else children[2:]
        operator = operator_of(rest[0]) if rest else ">="
        threshold = node_of(rest[1]) if rest else None
        name = ast.Name(children[1].node.value.lower(), span=children[1].node.span)
        by = ast.ByContamination(name, n, operator, threshold, span=span_of(children))
        return clause_of("BY", by, children)

    deleting = flag_clause("DELETE")

    def normalize(self, children: list[Any]) -> Clause:
        return clause_of("NORMALIZE", tuple(child.type for child in children[1::2]), children)

    def keep(self, children: list[Any]) -> Clause:
        keys = tuple(child for child in children if isinstance(child, ast.OrderBy))
        keeps_one, longest = not has_terminal(children, "NONE"), has_terminal(children, "LONGEST")
        return clause_of("KEEP", ast.Keep(keys, keeps_one, longest, span=span_of(children)), children)

    keep_near = keep

    against = valued_clause("AGAINST")

    def returning(self, children: list[Any]) -> Clause:
        every = (ast.Field((ast.EVERY_FIELD,), span=span_of(children[1:])),)
        return clause_of("RETURNING", fields_of(children) or every, children)

    def restore(self, children: list[Any]) -> ast.Restore:
        return ast.Restore(children[2].node, children[5].node, span=span_of(children))

    def keep_version(self, children: list[Any]) -> ast.KeepVersion:
        version = children[2].node if len(children) == 5 else None
        return ast.KeepVersion(children[-1].node, version, span=span_of(children))

    def drop_version(self, children: list[Any]) -> ast.DropVersion:
        return ast.DropVersion(children[2].node, span=span_of(children))

    def compact(self, children: list[Any]) -> ast.Compact:
        return ast.Compact(children[1].node if len(children) == 2 else None, span=span_of(children))

    def alter(self, children: list[Any]) -> ast.Alter:
        term = children[5]
        term = replace(term, sign=-1) if children[3].type == "SUBTRACT" else term
        return ast.Alter(children[2].node, term, span=span_of(children))

    def add_fields(self, children: list[Any]) -> ast.AddFields:
        _, _, name, _, _, _, path, _, key, *_ = children
        return statement_of(ast.AddFields, children, name=name.node, path=path.node, key=key)

    def drop_fields(self, children: list[Any]) -> ast.DropFields:
        fields = tuple(child for child in children if isinstance(child, ast.Field))
        return ast.DropFields(children[2].node, fields, span=span_of(children))

    def field_list(self, children: list[Any]) -> Clause:
        return clause_of("The list of fields", fields_of(children), children)

    replacing = flag_clause("REPLACE")

    def update(self, children: list[Any]) -> ast.Update:
        assignments = tuple(child for child in children if isinstance(child, ast.Assignment))
        return statement_of(ast.Update, children, name=children[1].node, assignments=assignments)

    def assignment(self, children: list[Any]) -> ast.Assignment:
        return ast.Assignment(children[0], node_of(children[2]), span=span_of(children))

    def analyze(self, children: list[Any]) -> ast.Analyze:
        return statement_of(ast.Analyze, children, name=children[1].node)

    def drop_corpus(self, children: list[Any]) -> ast.DropCorpus:
        return statement_of(ast.DropCorpus, children, name=name_of(children[2:]))

    def attach(self, children: list[Any]) -> ast.Attach:
        clauses = clauses_of(children)
        options = clauses.get("The list of options", ())
        return ast.Attach(children[1].node, children[3].node, options, span=span_of(children))

    def detach(self, children: list[Any]) -> ast.Detach:
        return ast.Detach(children[1].node, span=span_of(children))

    def use(self, children: list[Any]) -> ast.Use:
        return ast.Use(children[1].node, span=span_of(children))

    def describe(self, children: list[Any]) -> ast.Describe:
        return ast.Describe(children[1].node if len(children) == 2 else None, span=span_of(children))

    def show(self, children: list[Any]) -> ast.Show:
        return statement_of(ast.Show, children, what=children[1].type.lower())

    def check(self, children: list[Any]) -> ast.Check:
        return ast.Check(children[1].node if len(children) == 2 else None, span=span_of(children))

    def set_setting(self, children: list[Any]) -> ast.SetSetting:
        return ast.SetSetting(lowered(children[1].node), children[3].node, span=span_of(children))

    def reset_setting(self, children: list[Any]) -> ast.ResetSetting:
        return ast.ResetSetting(lowered(children[1].node), span=span_of(children))

    if_not_exists = flag_clause("IF NOT EXISTS")
    if_exists = flag_clause("IF EXISTS")
    tokenizer = valued_clause("TOKENIZER")

    def with_options(self, children: list[Any]) -> Clause:
        return clause_of("WITH", children[1].value, children)

    def bare_options(self, children: list[Any]) -> Clause:
        return clause_of("The list of options", children[0].value, children)

    def on_error(self, children: list[Any]) -> Clause:
        return clause_of("ON ERROR", children[2].type == "SKIP", children)

    def options(self, children: list[Any]) -> Clause:
        options = [child for child in children if isinstance(child, ast.Option)]
        seen: set[str] = set()
        for option in options:
            if option.name.value in seen:
                raise Fault(f"option {option.name.value} is given twice", start_of(option), stop_of(option))
            seen.add(option.name.value)
        return clause_of("options", tuple(options), children)

    def option(self, children: list[Any]) -> ast.Option:
        last = children[-1]
        value = last.value if isinstance(last, Clause) else last.node
        return ast.Option(lowered(children[0].node), value, span=span_of(children))

    def option_list(self, children: list[Lexeme]) -> Clause:
        return clause_of("list", tuple(child.node for child in children if child.node is not None), children)


# ---- The rules of the grammar that make questions and their clauses.


_NUMBERS = frozenset({"INTEGER_LITERAL", "NUMBER_LITERAL", "PARAMETER"})


def _first_node(children: Sequence[Any]) -> Any:
    """Return the first node among the parts, after keywords that may be left out."""
    return next(node for node in map(node_of, children) if isinstance(node, ast.Node))


def _flat(children: Sequence[Any]) -> list[Any]:
    """Return the parts, with those of lists in place of these."""
    return [part for child in children for part in (child if isinstance(child, list) else [child])]


class QuestionRules:
    """One method per rule, called with the rule's tokens and the values of its parts."""

    def count(self, children: list[Any]) -> ast.Count:
        what, *others = (child for child in children if isinstance(child, ast.Node))
        return statement_of(ast.Count, children, what=what, others=tuple(others))

    def count_docs(self, children: list[Any]) -> ast.CountDocs:
        return statement_of(ast.CountDocs, children)

    def docs(self, children: list[Any]) -> ast.Docs:
        return statement_of(ast.Docs, children)

    def kwic(self, children: list[Any]) -> ast.Kwic:
        return statement_of(ast.Kwic, children, what=children[1])

    def collocates(self, children: list[Any]) -> ast.Collocates:
        return statement_of(ast.Collocates, children, what=_first_node(children))

    def keywords(self, children: list[Any]) -> ast.Keywords:
        what, *against = (child for child in children if isinstance(child, ast.DocumentsOf))
        return statement_of(ast.Keywords, children, what=what, against=against[0] if against else None)

    def dispersion(self, children: list[Any]) -> ast.Dispersion:
        return statement_of(ast.Dispersion, children, what=_first_node(children))

    def duplicates(self, children: list[Any]) -> ast.Duplicates:
        return statement_of(ast.Duplicates, children)

    def ngrams(self, children: list[Any]) -> ast.Ngrams:
        return statement_of(ast.Ngrams, children, n=children[1].node)

    def trace(self, children: list[Any]) -> ast.Trace:
        return statement_of(ast.Trace, children, ngram=children[1].node)

    def trace_texts(self, children: list[Any]) -> ast.TraceTexts:
        return statement_of(ast.TraceTexts, _flat(children))

    def near_duplicates(self, children: list[Any]) -> ast.NearDuplicates:
        return statement_of(ast.NearDuplicates, children)

    def prob(self, children: list[Any]) -> ast.Prob:
        return statement_of(ast.Prob, children, continuation=children[1].node, context=children[3].node)

    def dist(self, children: list[Any]) -> ast.Dist:
        return statement_of(ast.Dist, children, context=_first_node(children))

    def dist_before(self, children: list[Any]) -> ast.DistBefore:
        return statement_of(ast.DistBefore, children, ngram=children[2].node)

    def score(self, children: list[Any]) -> ast.Score:
        return statement_of(ast.Score, children, ngram=children[1].node)

    def generate(self, children: list[Any]) -> ast.Generate:
        if "TOKENS" not in clauses_of(_flat(children)):
            raise Fault(
                "GENERATE requires a number of tokens, such as TOKENS 20",
                start_of(children[0]),
                stop_of(children[0]),
            )
        return statement_of(ast.Generate, _flat(children), context=_first_node(children))

    def using_to_draw(self, children: list[Any]) -> list[Clause]:
        model, *others = children[1]
        return [clause_of("USING", model, [children[0], model]), *others]

    def perplexity(self, children: list[Any]) -> ast.Perplexity:
        return statement_of(ast.Perplexity, _flat(children))

    def agreement(self, children: list[Any]) -> ast.Agreement:
        return statement_of(ast.Agreement, _flat(children))

    def novelty(self, children: list[Any]) -> ast.Novelty:
        return statement_of(ast.Novelty, _flat(children))

    def continuations(self, children: list[Any]) -> ast.Continuations:
        return statement_of(ast.Continuations, children, ngram=_first_node(children))

    # ---- clauses

    def of_texts(self, children: list[Any]) -> Clause:
        what, options = node_of(children[1]), clauses_of(children).get("The list of options", ())
        if is_terminal(children[1], "PATH_LITERAL"):
            found = ast.Measured(path=what, options=options, span=span_of(children))
        elif isinstance(what, ast.DocumentsOf):
            found = ast.Measured(documents=what, span=span_of(children))
        else:
            found = ast.Measured(ngram=what, span=span_of(children))
        return clause_of("OF", found, children)

    def from_where(self, children: list[Any]) -> list[Clause]:
        """FROM, and the condition on the documents of that corpus."""
        return [clause_of("FROM", children[1], children[:2]), *children[2:]]

    def using_models(self, children: list[Any]) -> Clause:
        models = tuple(child for child in children if isinstance(child, ast.ModelClause))
        return clause_of("USING", models, children)

    def orders(self, children: list[Any]) -> Clause:
        return clause_of("ORDERS", tuple(map(node_of, children[1::2])), children)

    def by_units(self, children: list[Any]) -> Clause:
        unit = children[1]
        if isinstance(unit, Lexeme) and unit.node is None:
            unit = ast.Name(unit.type.lower(), span=span_of(children[1:]))
        return clause_of("BY", node_of(unit), children)

    by_agreement = by_units
    by_novelty = by_units
    of_lengths = valued_clause("NGRAMS")
    skip = valued_clause("SKIP")
    with_argmax = flag_clause("WITH ARGMAX")

    def term(self, children: list[Any]) -> ast.SourceTerm:
        version = children[3].node if len(children) > 1 else None
        return ast.SourceTerm(children[0].node, 1, version, span=span_of(children))

    def source(self, children: list[Any]) -> ast.Source:
        terms = [children[0]]
        for sign, term in zip(children[1::2], children[2::2], strict=True):
            terms.append(replace(term, sign=-1) if sign.type == "MINUS" else term)
        return ast.Source(tuple(terms), span=span_of(children))

    from_clause = valued_clause("FROM")
    using = valued_clause("USING")
    where = valued_clause("WHERE")
    top = valued_clause("TOP")
    top_tokens = top
    limit = valued_clause("LIMIT")
    offset = valued_clause("OFFSET")
    window = valued_clause("WINDOW")

    def around(self, children: list[Any]) -> Clause:
        span = span_of(children)
        sentence = children[-1] if isinstance(children[-1], ast.InSentence) else None
        if sentence is children[1]:
            return clause_of("WINDOW", ast.Around(None, None, sentence, span=span), children)
        amounts = children if sentence is None else children[:-1]
        first = children[1].node
        none = ast.Value(0)
        left, right = first, first
        if len(amounts) > 2:
            left = none if is_terminal(amounts[2], "RIGHT") else first
            right = first if is_terminal(amounts[2], "RIGHT") else none
        if len(amounts) > 3:
            right = amounts[3].node
        return clause_of("WINDOW", ast.Around(left, right, sentence, span=span), children)

    def close(self, children: list[Any]) -> ast.InSentence:
        """WITHIN SENTENCE after a window."""
        found: ast.InSentence = children[1]
        return found

    def by_association(self, children: list[Any]) -> Clause:
        name = children[1].node
        return clause_of("BY", ast.Measure(name.value.lower(), span=name.span), children)

    def documents_of(self, children: list[Any]) -> ast.DocumentsOf:
        source = children[0] if isinstance(children[0], ast.Source) else None
        return ast.DocumentsOf(source, clauses_of(children).get("WHERE"), span=span_of(children))

    def rest(self, children: list[Any]) -> Any:
        return children[0]

    containing = valued_clause("CONTAINING")
    starting = valued_clause("STARTING")
    ending = valued_clause("ENDING")
    with_docs = flag_clause("WITH DOCS")
    of_ngrams = valued_clause("NGRAMS")

    def by_keyness(self, children: list[Any]) -> Clause:
        parameter = children[3].node if len(children) > 3 else None
        name = children[1].node
        return clause_of("BY", ast.Measure(name.value.lower(), parameter, span=name.span), children)

    def by_parts(self, children: list[Any]) -> Clause:
        keys = [child for child in children if isinstance(child, ast.GroupKey)]
        return clause_of("BY", keys[0] if keys else None, children)

    def contained(self, children: list[Any]) -> Clause:
        if operator_of(children[1]) != ">=":
            message = "CONTAINED takes the least share: CONTAINED >= 0.9"
            raise Fault(message, start_of(children[1]), stop_of(children[1]))
        return clause_of("CONTAINED", children[2].node, children)

    def of_words(self, children: list[Any]) -> Clause:
        return clause_of("NGRAM", children[1].node, children)

    def candidates(self, children: list[Any]) -> Clause:
        numbers = (child.node for child in children if getattr(child, "type", "") in _NUMBERS)
        is_index = has_terminal(children, "INDEX")
        way = None if is_index else ast.MinHash(*numbers, span=span_of(children))
        return clause_of("CANDIDATES", way, children)

    with_rejected = flag_clause("WITH REJECTED")
    min_length = valued_clause("MIN LENGTH")

    def by_rows(self, children: list[Any]) -> Clause:
        return clause_of("BY", children[1].type.lower(), children)

    def of_length(self, children: list[Any]) -> Clause:
        comparator = next((child for child in children if is_terminal(child, "COMPARATOR")), None)
        if comparator is not None and comparator.node.value != ">=":
            raise Fault("LENGTH is the least length: LENGTH >= 50", comparator.start, comparator.stop)
        amount = next(child.node for child in children if getattr(child, "type", "") in _NUMBERS)
        unit = "bytes" if has_terminal(children, "BYTES") else "tokens"
        return clause_of("LENGTH", ast.Length(amount, unit, span=span_of(children)), children)

    def sentence(self, children: list[Any]) -> Clause:
        return clause_of(UNIT, ast.Name("sentence", span=span_of(children)), children)

    def as_document(self, children: list[Any]) -> Clause:
        return clause_of(UNIT, ast.Name("document", span=span_of(children)), children)

    tokens = valued_clause("TOKENS")
    temperature = valued_clause("TEMPERATURE")
    nucleus = valued_clause("NUCLEUS")
    diversity = valued_clause("DIVERSITY")
    min_prob = valued_clause("MIN PROB")

    def stop(self, children: list[Any]) -> Clause:
        return clause_of("STOP", tuple(map(node_of, children[1::2])), children)

    seed = valued_clause("SEED")
    return_clause = valued_clause("RETURN")

    def method(self, children: list[Any]) -> Clause:
        width = children[3].node if len(children) > 2 else None
        method = ast.Method(children[1].type.lower(), width, span=span_of(children))
        return clause_of("METHOD", method, children)

    def sample(self, children: list[Any]) -> Clause:
        seed = children[3].node if len(children) > 2 else None
        return clause_of("SAMPLE", ast.Sample(children[1].node, seed, span=span_of(children)), children)

    def token_sample(self, children: list[Any]) -> Clause:
        seed = children[-1].node if is_terminal(children[-2], "SEED") else None
        by = children[4] if len(children) > 4 and is_terminal(children[3], "BY") else None
        weights = next((child.value for child in children if isinstance(child, Clause)), ())
        sample = ast.TokenSample(node_of(children[1]), seed, by, weights, span=span_of(children))
        return clause_of("SAMPLE", sample, children)

    def weights(self, children: list[Any]) -> Clause:
        return clause_of("WEIGHTS", tuple(one for one in children if isinstance(one, ast.Weighted)), children)

    def weighted(self, children: list[Any]) -> ast.Weighted:
        return ast.Weighted(node_of(children[0]), node_of(children[-1]), span=span_of(children))

    def group_by(self, children: list[Any]) -> Clause:
        keys = children[-1]
        return Clause("GROUP BY", keys, start_of(children[0]), stop_of(keys[-1]))

    def group_keys(self, children: list[Any]) -> tuple[ast.GroupKey, ...]:
        return tuple(children[::2])

    def divided(self, children: list[Any]) -> ast.Divided:
        what = next(child for child in children if isinstance(child, (ast.Field, ast.DatePart, ast.Called)))
        divisor, *factor = (child.node for child in children if getattr(child, "type", "") in _NUMBERS)
        return ast.Divided(what, divisor, *factor, span=span_of(children))

    def unnested(self, children: list[Any]) -> ast.Unnested:
        return ast.Unnested(children[2], span=span_of(children))

    def beside(self, children: list[Any]) -> ast.Beside:
        return ast.Beside(children[0].type.lower(), children[1].node, span=span_of(children))

    def form(self, children: list[Any]) -> ast.Form:
        return ast.Form(span=span_of(children))

    per_million = flag_clause("PER MILLION")

    def order_by(self, children: list[Any]) -> Clause:
        keys = tuple(child for child in children if isinstance(child, ast.OrderBy))
        return clause_of("ORDER BY", keys, children)

    def order_key(self, children: list[Any]) -> ast.OrderBy:
        return ast.OrderBy(children[0], has_terminal(children, "DESC"), span=span_of(children))

    def weight(self, children: list[Any]) -> Clause:
        return clause_of("The weight", children[1].node, children)

    order = valued_clause("ORDER")
    min_count = valued_clause("MIN COUNT")


# ---- From what the grammar recognises to the abstract syntax.


class AstBuilder(QuestionRules, ConditionRules, DataRules):
    """One method per rule of the grammar, called with the rule's tokens and the values of its parts."""

    def script(self, children: list[Any]) -> tuple[ast.Statement, ...]:
        return tuple(child for child in children if not isinstance(child, Lexeme))

    def condition(self, children: list[Nested]) -> ast.Condition:
        return children[0].condition

    def model(self, children: list[Any]) -> ast.ModelClause:
        return statement_of(ast.ModelClause, children, kind=children[0].type.lower())

    def model_to_draw(self, children: list[Any]) -> list[Any]:
        """Return the model, and a clause MIN PROB that follows it."""
        others = [child for child in children if isinstance(child, Clause) and child.label == "MIN PROB"]
        return [self.model([child for child in children if child not in others]), *others]

    def explain(self, children: list[Any]) -> ast.Explain:
        return ast.Explain(children[-1], has_terminal(children, "ANALYZE"), span=span_of(children))
