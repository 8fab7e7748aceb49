# Trains the model `id` from ICON in data/ and from multilingual-e5-small: sh recipes/id.sh
# A folder of that name has the encoder. The three teachers are parsers of two kinds, trained on gold trees.
#
# For the weights in the package, the encoder was rounded to 7 bits before training.
set -e
python recipes/prune_pieces.py multilingual-e5-small runs/e5-id data/icon/train.mrg.gz
treecrf train recipes/id-lstm.toml -o runs/id-lstm-1
for seed in 1 2; do
    treecrf train recipes/id-e5.toml train.seed=$seed -o runs/id-e5-$seed
done
treecrf train recipes/id.toml -o runs/id
treecrf calibrate runs/id data/icon/dev.mrg.gz -o runs/id-calibrated
rm -rf packages/treecrf-id
treecrf pack runs/id-calibrated packages/treecrf-id --package --package-version 0.2.0 --weight-step 0.3 --card recipes/cards/id.toml
