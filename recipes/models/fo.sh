# Trains the model `fo` from FarPaHC, IcePaHC and GreynirCorpus in data/ and from multilingual-e5-small:
# sh recipes/models/fo.sh
# A folder of that name has the encoder. The two teachers were trained on gold trees.
set -e
for treebank in farpahc icepahc; do
    python recipes/models/running_words.py data/$treebank/train.mrg.gz data/$treebank/train_running.mrg.gz
done
python recipes/models/prune_pieces.py multilingual-e5-small runs/e5-fo data/farpahc/train.mrg.gz data/farpahc/train_running.mrg.gz \
    data/icepahc/train.mrg.gz data/icepahc/train_running.mrg.gz data/greynir/train.mrg.gz
for seed in 1 2; do
    treecrf train --no-calibration recipes/models/fo-e5.toml train.seed=$seed -o runs/fo-e5-$seed
done
treecrf train --no-calibration recipes/models/fo.toml -o runs/fo
treecrf calibrate runs/fo data/farpahc/dev.mrg.gz -o runs/fo-calibrated
rm -rf packages/treecrf-fo
treecrf pack runs/fo-calibrated packages/treecrf-fo --package --package-version 0.2.0 --weight-step 0.3 \
    --card recipes/models/cards/fo.toml
