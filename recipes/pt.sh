# Trains the model `pt` from Floresta in data/ and from multilingual-e5-small: sh recipes/pt.sh
# A folder of that name has the encoder. The six teachers are parsers of two kinds, trained on gold trees.
set -e
python recipes/prune_pieces.py multilingual-e5-small runs/e5-pt data/floresta/train.mrg.gz
for seed in 1 2 3; do
    treecrf train recipes/pt-lstm.toml train.seed=$seed -o runs/pt-lstm-$seed
    treecrf train recipes/pt-e5.toml train.seed=$seed -o runs/pt-e5-$seed
done
treecrf train recipes/pt.toml -o runs/pt
treecrf calibrate runs/pt data/floresta/dev.mrg.gz -o runs/pt-calibrated
rm -rf packages/treecrf-pt
treecrf pack runs/pt-calibrated packages/treecrf-pt --package --package-version 0.2.0 --weight-bits 6 --card recipes/cards/pt.toml
