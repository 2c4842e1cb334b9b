r"""Mathematics as values: a text such as `\frac12` becomes a value, and two values are compared.

| step | modules |
|---|---|
| a text is cut into tokens | `tokens`, with the tables `spellings`, `words`, `units` and `functions` |
| tokens become a value | `reader` reads by precedence what the table `grammar` says |
| what a value can be | `values` for expressions, and a module of `kinds` for each other kind |
| values are worked out | `evaluation` exactly or at a point, `equivalence` at many points and up to names of constants |
| values are compared | `kinds.compare` asks the kinds in their order; `matching` is what they share |

A rule is an entry of a table, or a branch in the module of a kind. To add one:

| what | where |
|---|---|
| a unit, or another spelling of it | an entry of `units.txt`. Units are compared, never converted. |
| a function | a line of `functions.FUNCTIONS` |
| a number word, or a word that multiplies the number before it | an entry of `numbers` or `scales` in `words.toml` |
| any other word with a meaning | an entry of `roles` in `words.toml`. One of two letters is also one of `short_words`. |
| a spelling that means the same as another | an entry of `signs` or `commands` in `spellings.toml`, or of `spellings.REWRITTEN` (patterns) |
| a sign with a meaning of its own | an entry of `grammar.PREFIXES` (before a value) or `grammar.INFIXES` (after one) |
| a bracket with a meaning of its own | an entry of `tokens.BRACKETS`, and one of `grammar.PREFIXES` |
| when values of a kind are equal | the function `match_...` of its module in `kinds` |
| a kind of value | a module of `kinds`, an entry of `kinds.KINDS`, and the entries of `grammar` that read it |
"""
