r"""
Mathematics as values: a text such as `\frac12` becomes a value, and two values are compared.

| step | modules |
|---|---|
| a text is cut into tokens | `spellings`, `letters`, `tokens`; what words mean: `words`, `units` |
| tokens become a value | `cursor`, `expressions`, `operands`, `commands`, `cases`, `quantities`, `items`, `reader`, each on top of the one before; `operations`, `arrays` and `bases` make the values |
| what a value can be | `values` |
| values are worked out | `rationals` exactly, `evaluation` at a point, `sets` as intervals |
| values are compared | `comparison`; `agreement`, `equivalence`, `families`, `relations`, `piecewise`, `lists`, `notations`, `names` for one kind each; `working` for what is not worked out |
"""
