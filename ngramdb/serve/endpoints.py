"""The questions that have an address below a corpus, and the parameters that all of them share."""

from __future__ import annotations

from ngramdb.questions.definition import ROUTES, Request, request_named
from ngramdb.questions.requests import Parameter

QUESTIONS: dict[str, Request] = {route: request_named(route) for route in ROUTES}

LIMIT = Parameter("limit", "integer", "rows of an answer", least=0)
OFFSET = Parameter("offset", "integer", "rows to pass over")
TIMEOUT = Parameter(
    "timeout", "number", "seconds that the question may take; at most the limit of the server"
)
#: In the address of a statement's next page: what the pages before are of.
PAGED_VERSION = Parameter("version", "integer", "the version that the rows before were read of")
PAGED_SEED = Parameter("seed", "integer", "the seed by which the rows before were drawn")
COMMON = (LIMIT, OFFSET, TIMEOUT)
DATABASE = Parameter("db", "text", "the database, of several")
CORPUS = Parameter("corpus", "text", "the corpus of a statement without FROM")
OF_STATEMENTS = (DATABASE, CORPUS, *COMMON, PAGED_VERSION, PAGED_SEED)
