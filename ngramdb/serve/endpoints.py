"""The questions that have an address below a corpus, and the parameters that all of them share."""

from __future__ import annotations

from ngramdb.questions.definition import ROUTES, Request, request_named
from ngramdb.questions.requests import Parameter

QUESTIONS: dict[str, Request] = {route: request_named(route) for route in ROUTES}

LIMIT = Parameter("limit", "integer", "rows of an answer", least=0)
OFFSET = Parameter("offset", "integer", "rows to skip")
TIMEOUT = Parameter("timeout", "number", "time limit in seconds; at most the limit of the server")
#: Parameters of the address of a statement's next page: they identify the rows of the previous pages.
PAGED_VERSION = Parameter("version", "integer", "the version that the previous pages were read from")
PAGED_SEED = Parameter("seed", "integer", "the seed with which the previous pages were sampled")
COMMON = (LIMIT, OFFSET, TIMEOUT)
DATABASE = Parameter("db", "text", "the database, if the server has several")
CORPUS = Parameter("corpus", "text", "the corpus of a statement without FROM")
OF_STATEMENTS = (DATABASE, CORPUS, *COMMON, PAGED_VERSION, PAGED_SEED)
