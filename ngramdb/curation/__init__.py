"""The logic of curation, over corpora and segments: no plans, no parsing.

- `equal_documents`: documents of which a copy stays.
- `keeping`: which of several copies is kept.
- `near_duplicates`: documents that are contained in others.
- `spans`: texts that occur several times, each as long as possible.
- `windows`: windows of text that occur several times, as ranges of tokens.
"""
