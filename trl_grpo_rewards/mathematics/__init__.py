r"""
Mathematics as values: a text such as `\frac12` becomes a value, and two values are compared.

| step | modules |
|---|---|
| a text is cut into tokens | `tokens`, with the tables `spellings`, `words`, `units` and `functions` |
| tokens become a value | `reader` reads by precedence what the table `grammar` says |
| what a value can be | `values` for expressions, and a module of `kinds` for each other kind |
| values are worked out | `rationals` exactly, `evaluation` at a point, `equivalence` at many points, `segments` as intervals |
| values are compared | `comparison` asks the `kinds` in their order; `matching` is what they share |

A unit is a line of `units.TABLE`, a function a line of `functions.FUNCTIONS`, a word with its meaning an entry of
`words.ROLES`, and a sign or a bracket an entry of `grammar`. A kind is a module of `kinds`, an entry of `kinds.KINDS`, and
the entries of `grammar` that read it.
"""
