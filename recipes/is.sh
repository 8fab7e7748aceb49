# Trains the model `is` from IcePaHC and GreynirCorpus in data/ and from multilingual-e5-small: sh recipes/is.sh
# A folder of that name has the encoder. The six teachers are parsers of two kinds, trained on gold trees.
set -e
python recipes/running_words.py data/icepahc/train.mrg.gz data/icepahc/train_running.mrg.gz
python recipes/prune_pieces.py multilingual-e5-small runs/e5-is data/icepahc/train.mrg.gz data/icepahc/train_running.mrg.gz data/greynir/train.mrg.gz
for seed in 1 2 3; do
    treecrf train recipes/is-lstm.toml train.seed=$seed -o runs/is-lstm-$seed
    treecrf train recipes/is-e5.toml train.seed=$seed -o runs/is-e5-$seed
done
treecrf train recipes/is.toml -o runs/is
treecrf calibrate runs/is data/icepahc/dev.mrg.gz data/greynir/dev.mrg.gz -o runs/is-calibrated
rm -rf packages/treecrf-is
treecrf pack runs/is-calibrated packages/treecrf-is --package --package-version 0.2.0 --weight-bits 6 --card recipes/cards/is.toml
