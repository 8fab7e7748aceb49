# Trains the embedded model `en` from treebanks in data/ and GloVe vectors: sh recipes/en.sh
# Its teachers are parsers of three kinds, trained on gold trees. `en` is trained on gold trees and on sentences of
# Redwoods. The previous version of `en` parses these sentences, because training needs trees, but most of the loss is
# distillation.
set -e
python recipes/sentences.py data/redwoods/train.mrg.gz data/redwoods/dev.mrg.gz data/redwoods/test.mrg.gz > data/redwoods/sentences.txt
treecrf parse --tokens data/redwoods/sentences.txt -o data/redwoods/parsed.mrg.gz

treecrf train recipes/en-encoder.toml -o runs/en-encoder
treecrf train recipes/en-teacher.toml -o runs/en-teacher
for seed in 1 2; do
    treecrf train recipes/en-teacher-lstm.toml train.seed=$seed -o runs/en-teacher-lstm-$seed
    treecrf train recipes/en-teacher-words.toml train.seed=$seed -o runs/en-teacher-words-$seed
done
treecrf train recipes/en.toml -o runs/en

treecrf calibrate runs/en data/masc/dev.mrg.gz data/mctb/dev.mrg.gz -o runs/en-calibrated
treecrf pack runs/en-calibrated src/treecrf/models/en --card recipes/cards/en.toml --vectors 20000
