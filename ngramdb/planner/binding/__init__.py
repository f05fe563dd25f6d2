"""Binding, one module per family of statements. `scope` is what all of them look names up in."""
