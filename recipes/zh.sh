# Trains the model `zh` from the Sinica Treebank sample in data/: sh recipes/zh.sh
# Its three teachers differ only in their seeds.
#
# The weights in packages/treecrf-zh were made by this script as it was in commit 7e4182a, without teachers.
set -e
python recipes/clauses.py data/sinica/train.mrg.gz data/sinica/train_marked.mrg.gz
for seed in 1 2 3; do
    treecrf train recipes/zh-teacher.toml train.seed=$seed -o runs/zh-teacher-$seed
done
treecrf train recipes/zh.toml -o runs/zh
treecrf calibrate runs/zh data/sinica/dev.mrg.gz -o runs/zh-calibrated
rm -rf packages/treecrf-zh
treecrf pack runs/zh-calibrated packages/treecrf-zh --package --package-version 0.2.0 --card recipes/cards/zh.toml
