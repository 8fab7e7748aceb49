# Trains the embedded model `zh` from the Sinica Treebank sample in data/: sh recipes/zh.sh
set -e
python recipes/clauses.py data/sinica/train.mrg.gz data/sinica/train_marked.mrg.gz
treecrf train recipes/zh.toml -o runs/zh
treecrf calibrate runs/zh data/sinica/dev.mrg.gz -o runs/zh-calibrated
treecrf pack runs/zh-calibrated src/treecrf/models/zh --card recipes/cards/zh.toml
