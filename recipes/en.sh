# Trains the embedded model `en` from treebanks in data/, GloVe vectors and MiniLM: sh recipes/en.sh
# Its five teachers are parsers of three kinds, trained on gold trees. `en` is trained on gold trees and on sentences of
# Redwoods, which has no gold trees in the style of the Penn Treebank. Training needs some trees for them, so the
# parser of recipes/en-lstm.toml parses them first. Four fifths of the loss are distillation from the teachers.
#
# The weights in the package were made before this script trained that parser itself: the previous version of `en` had
# parsed Redwoods.
set -e
python recipes/sentences.py data/redwoods/train.mrg.gz data/redwoods/dev.mrg.gz data/redwoods/test.mrg.gz > data/redwoods/sentences.txt
treecrf train recipes/en-lstm.toml -o runs/en-lstm
treecrf parse --model runs/en-lstm --tokens data/redwoods/sentences.txt -o data/redwoods/parsed.mrg.gz

treecrf train recipes/en-encoder.toml -o runs/en-encoder
treecrf train recipes/en-teacher.toml -o runs/en-teacher
for seed in 1 2; do
    treecrf train recipes/en-teacher-lstm.toml train.seed=$seed -o runs/en-teacher-lstm-$seed
    treecrf train recipes/en-teacher-words.toml train.seed=$seed -o runs/en-teacher-words-$seed
done
treecrf train recipes/en.toml -o runs/en

treecrf calibrate runs/en data/masc/dev.mrg.gz data/mctb/dev.mrg.gz data/gum/dev.mrg.gz data/genia/dev.mrg.gz \
    data/craft/dev.mrg.gz --limit 600 -o runs/en-calibrated
treecrf pack runs/en-calibrated src/treecrf/models/en --card recipes/cards/en.toml --vectors 20000
