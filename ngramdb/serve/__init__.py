"""The HTTP service: read-only access to corpora, built on `api`.

`app` checks whether a client has access and sends the page's files; `requests` parses addresses and
parameters and lists the questions, and `routes` dispatches them. `verbs` runs the verbs of `Corpus` for the
Python client. `reading` answers in a worker thread, which `running` starts, times and stops. `responses`
writes rows as bytes, `problem_details` turns errors into answers and defines the limits, `database_pool`
holds the databases, and `server` the sockets. `static/` is the web page: ES modules that call the public
routes, all through `api.js`, with one module per view in `views/`.
`completions`, `infini_gram`, `attribution` and `assistants` (the Model Context Protocol, with the tools of
`tools`) are protocols of other programs.
"""
