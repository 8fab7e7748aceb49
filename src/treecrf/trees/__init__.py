"""Everything about trees that needs no model, with NumPy and C, and of the package only `config` and `files`.

Here: the `Tree` type, treebanks and their notations, EVALB scores, Tregex search and surgery, Universal Dependencies,
drawings, and tables of trees. Not here: charts and probabilities (`chart`, `parser.decoding`), raw text (`text`), and
anything that reads a model.
"""
