# The embedded model `en`, from treebanks in data/ and GloVe's vectors: sh recipes/en.sh
# Parsers of three kinds teach it, on gold trees and on sentences of Redwoods. That `en` itself, in its version before,
# parses these first gives the sentences a tree; what is learned of them is nearly all the teachers'.
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
