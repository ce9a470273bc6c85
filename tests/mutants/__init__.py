"""Mutation testing: small faults put into the source, to see which tests notice.

- `mutant`: what a mutant is, and the repairs undone one by one (`repairs/*.toml`).
- `seeded`: classic mutations (a condition negated, an operand dropped, a statement removed, ...) at places drawn by a
  seeded generator.
- `trial`: one mutant put into a copy of the tree, and the tests run there.
- `__main__`: the command, `python -m tests.mutants --help`.

A mutant that no test can notice, because it changes nothing that can be observed, is listed in `equivalents.toml` with
its reason.
"""
