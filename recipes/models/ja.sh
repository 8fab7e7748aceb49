# Trains the model `ja` from the Keyaki Treebank in data/ and from multilingual-e5-small: sh recipes/models/ja.sh
# A folder of that name has the encoder. The two teachers were trained on gold trees.
set -e
python recipes/models/characters.py data/keyaki/train.mrg.gz data/keyaki/train_characters.mrg.gz
python recipes/models/prune_pieces.py --language ja multilingual-e5-small runs/e5-ja data/keyaki/train.mrg.gz
for seed in 1 2; do
    treecrf train --no-calibration recipes/models/ja-e5.toml train.seed=$seed -o runs/ja-e5-$seed
done
treecrf train --no-calibration recipes/models/ja.toml -o runs/ja
treecrf calibrate runs/ja data/keyaki/dev.mrg.gz -o runs/ja-calibrated
rm -rf packages/treecrf-ja
treecrf pack runs/ja-calibrated packages/treecrf-ja --package --package-version 0.2.0 --weight-step 0.3 \
    --card recipes/models/cards/ja.toml
