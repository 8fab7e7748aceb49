# Trains the model `es` from CESS-ESP in data/ and from multilingual-e5-small: sh recipes/es.sh
# A folder of that name has the encoder. The three teachers are parsers of two kinds, trained on gold trees.
#
# For the weights in the package, the encoder was rounded to 7 bits before training.
set -e
python recipes/prune_pieces.py multilingual-e5-small runs/e5-es data/cess_esp/train.mrg.gz
treecrf train recipes/es-lstm.toml -o runs/es-lstm-1
for seed in 1 2; do
    treecrf train recipes/es-e5.toml train.seed=$seed -o runs/es-e5-$seed
done
treecrf train recipes/es.toml -o runs/es
treecrf calibrate runs/es data/cess_esp/dev.mrg.gz -o runs/es-calibrated
rm -rf packages/treecrf-es
treecrf pack runs/es-calibrated packages/treecrf-es --package --package-version 0.2.0 --weight-step 0.3 --card recipes/cards/es.toml
