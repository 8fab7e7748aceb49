# Trains the teachers of the English models, from treebanks in data/, GloVe vectors and pretrained encoders in encoders/,
# and parses the sentences without gold trees: sh recipes/models/en-teachers.sh
# data/packages has the archives that raw_text.py names.
# Training of the students needs some trees for raw sentences, so a teacher parses them.
#
# all-mpnet-base-v2 has twelve layers of 768 instead of 384 numbers. The parsers on it are the teachers of the second
# training of `en` and `en-large` (train_layers.py). For the weights in the packages, the first of them was stopped
# after 8 of its 9 epochs.
set -e
mkdir -p data/constructions data/raw
cp recipes/models/constructions/train.mrg recipes/models/constructions/dev.mrg data/constructions
python benchmarks/constructions.py --trees train --count 300 > data/constructions/templates.mrg
treecrf train --no-calibration recipes/models/en-teacher.toml train.epochs=12 -o runs/en-teacher-ms-marco-minilm-l12
for encoder in gte-small bge-small-en; do
    treecrf train --no-calibration recipes/models/en-teacher.toml model.transformer=encoders/$encoder -o runs/en-teacher-$encoder
done
treecrf train --no-calibration recipes/models/en-teacher-words.toml -o runs/en-teacher-words
treecrf train --no-calibration recipes/models/en-teacher.toml model.transformer=encoders/all-mpnet-base-v2 train.epochs=9 train.seed=2 \
    train.learning_rate=6e-5 train.head_multiplier=15 -o runs/en-teacher-mpnet-1
treecrf train --no-calibration recipes/models/en-teacher.toml model.transformer=encoders/all-mpnet-base-v2 train.epochs=9 train.seed=6 \
    train.learning_rate=1e-4 train.head_multiplier=10 -o runs/en-teacher-mpnet-2

python recipes/models/sentences.py data/redwoods/train.mrg.gz data/redwoods/dev.mrg.gz data/redwoods/test.mrg.gz > data/raw/redwoods.txt
python recipes/models/raw_text.py data/packages data/masc/*.mrg.gz data/mctb/*.mrg.gz data/ptb_sample/*.mrg.gz data/gum/*.mrg.gz \
    data/genia/*.mrg.gz data/craft/*.mrg.gz data/constructions/*.mrg > data/raw/packages.txt
cat data/raw/redwoods.txt data/raw/packages.txt > data/raw/sentences.txt
treecrf parse --model runs/en-teacher-ms-marco-minilm-l12 --tokens data/raw/sentences.txt -o data/raw/parsed.mrg.gz
