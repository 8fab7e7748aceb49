# Trains the embedded model `en-lstm` from treebanks in data/ and GloVe vectors: sh recipes/en-lstm.sh
set -e
treecrf train recipes/en-lstm.toml -o runs/en-lstm
treecrf pack runs/en-lstm src/treecrf/models/en-lstm --card recipes/cards/en-lstm.toml --vectors 41396
