"""What other programs speak: completions, infini-gram, assistants and their tools, attribution."""
