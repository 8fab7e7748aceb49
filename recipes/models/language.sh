# Trains the model of a language from one treebank in data/ and from multilingual-e5-small:
# sh recipes/models/language.sh MODEL TREEBANK WEIGHT_STEP
# The folder multilingual-e5-small has the encoder. The three teachers are parsers of two kinds, trained on gold trees.
#
# For the weights in the packages, the encoder was rounded to 7 bits before training.
set -e
python recipes/models/prune_pieces.py --language $1 multilingual-e5-small runs/e5-$1 data/$2/train.mrg.gz
treecrf train --no-calibration recipes/models/$1-lstm.toml -o runs/$1-lstm-1
for seed in 1 2; do
    treecrf train --no-calibration recipes/models/$1-e5.toml train.seed=$seed -o runs/$1-e5-$seed
done
treecrf train --no-calibration recipes/models/$1.toml -o runs/$1
treecrf calibrate runs/$1 data/$2/dev.mrg.gz -o runs/$1-calibrated
rm -rf packages/treecrf-$1
treecrf pack runs/$1-calibrated packages/treecrf-$1 --package --package-version 0.2.0 --weight-step $3 \
    --card recipes/models/cards/$1.toml
