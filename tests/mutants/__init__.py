"""Mutation testing: small faults put into the source, to see which tests notice.

- `mutant`: what a mutant is, and the repairs undone one by one (`repairs/*.toml`).
- `shape`: code that is found in a definition by its shape, so that mutants outlive reformatting and renaming.
- `source`: the modules of the code, and the definitions in them by their dotted names.
- `seeded`: classic mutations (a condition negated, an operand dropped, a statement removed, ...) at places drawn by a
  seeded generator.
- `trial`: one mutant put into a copy of the tree, and the tests run there.
- `__main__`: the command, `python -m tests.mutants --help`.

A repair undone has one `[[edit]]` or several, each in one of three forms:

    [[edit]]                              [[edit]]                      [[edit]]
    in = "Publisher._append"              in = "CLAIM"                  file = "clients/typescript/src/watch.ts"
    old = "self._is_open and events"      old_text = "fence > known"    old = "if (closed) return"
    new = "events"                        new_text = "fence >= known"   new = ""

- Python: `in` is the end of the dotted name of a function, a class, a value or a module in `translator/` or `connect/`
  (`Publisher._append`, `store.publisher.Publisher`, `_LIMITS`, `store.publisher`). `old` and `new` are an expression,
  or statements that follow each other. `if ...:` without a body is the head of a statement with any body, and
  `start(..., timeout=3)` is a call with any other arguments. No `new` is `pass`. Formatting, comments and docstrings do
  not matter, nor do names of local variables: a variable that the function no longer has stands for one that it has,
  in `new` too.
- A text inside a string of Python, such as Lua or SQL: `old_text` and `new_text`.
- A file of another language: its path, and texts. Python is not edited by its path: a text breaks with every renaming.

What is replaced has to be there exactly once; a larger piece, or a longer name, says which one is meant.
`tests/test_mutants.py` makes every mutant, and `make mutants ARGS='--only TEXT'` tries those with a text in their name.

A mutant that no test can notice, because it changes nothing that can be observed, is listed in `equivalents.toml` with
its reason.
"""
