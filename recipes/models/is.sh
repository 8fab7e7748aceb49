# Trains the model `is` from IcePaHC and GreynirCorpus in data/ and from multilingual-e5-small: sh recipes/models/is.sh
# A folder of that name has the encoder. The two teachers were trained on gold trees.
#
# For the weights in the package, the encoder was rounded to 7 bits before training.
set -e
mkdir -p data/constructions
python benchmarks/constructions.py --language is --trees train --count 400 > data/constructions/is.mrg
python recipes/models/running_words.py data/icepahc/train.mrg.gz data/icepahc/train_running.mrg.gz
python recipes/models/prune_pieces.py multilingual-e5-small runs/e5-is data/icepahc/train.mrg.gz data/icepahc/train_running.mrg.gz data/greynir/train.mrg.gz
treecrf train --no-calibration recipes/models/is-lstm.toml -o runs/is-lstm-1
treecrf train --no-calibration recipes/models/is-e5.toml -o runs/is-e5-1
treecrf train --no-calibration recipes/models/is.toml -o runs/is
treecrf calibrate runs/is data/icepahc/dev.mrg.gz data/greynir/dev.mrg.gz --limit 1000 -o runs/is-calibrated
rm -rf packages/treecrf-is
treecrf pack runs/is-calibrated packages/treecrf-is --package --package-version 0.2.0 --weight-step 0.4 --card recipes/models/cards/is.toml
