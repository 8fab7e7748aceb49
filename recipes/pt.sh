# Trains the model `pt` from Floresta in data/ and from multilingual-e5-small: sh recipes/pt.sh
# A folder of that name has the encoder. The three teachers are parsers of two kinds, trained on gold trees.
#
# For the weights in the package, the encoder was rounded to 7 bits before training.
set -e
python recipes/prune_pieces.py multilingual-e5-small runs/e5-pt data/floresta/train.mrg.gz
treecrf train recipes/pt-lstm.toml -o runs/pt-lstm-1
for seed in 1 2; do
    treecrf train recipes/pt-e5.toml train.seed=$seed -o runs/pt-e5-$seed
done
treecrf train recipes/pt.toml -o runs/pt
treecrf calibrate runs/pt data/floresta/dev.mrg.gz -o runs/pt-calibrated
rm -rf packages/treecrf-pt
treecrf pack runs/pt-calibrated packages/treecrf-pt --package --package-version 0.2.0 --weight-step 0.4 --card recipes/cards/pt.toml
