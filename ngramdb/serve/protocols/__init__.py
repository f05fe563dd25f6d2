"""Protocols of other programs: completions, infini-gram, assistants and their tools, attribution."""
