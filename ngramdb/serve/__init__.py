"""Corpora for others: an HTTP service that only reads, over `api`.

`app` decides who may ask, `routes` and `addresses` what an address means. `forms` reads parameters,
`questions` makes the statement of each address, `verbs` answers Python's verbs for its client. `reading`
runs in a worker's thread, which `running` starts, times and stops; `answers` are rows as bytes, `problems`
errors as answers. `library` has the databases, `limits` what a request may take, `server` the sockets;
`inprocess` asks without one. `static/` is the page: ES modules that ask the public routes, all of them in
`api.js`; a view is a module of `views/`. `protocols/` is what other programs speak: `completions`,
`infini_gram`, `attribution`, `assistants` (the Model Context Protocol, with `tools`).
"""
