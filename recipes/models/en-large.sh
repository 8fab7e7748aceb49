# Trains the model `en-large` from treebanks in data/, GloVe vectors and pretrained encoders in encoders/:
# sh recipes/models/en-large.sh
# Its teachers are the teachers of `en` and more (en-teachers.sh), and it is trained twice like `en`.
#
# The weights in packages/treecrf-en-large were first trained at commit 4426b83 with these settings, but without
# constructions/, which did not exist. For the second training, the encoder of the teachers was rounded to 8 bits,
# and the trees of the sentences without gold trees were made by the first `en-large`.
set -e
sh recipes/models/en-teachers.sh
treecrf train --no-calibration recipes/models/en-large.toml -o runs/en-large
python recipes/models/fit_capitals.py runs/en-large runs/en-large data/masc/dev.mrg.gz data/mctb/dev.mrg.gz \
    data/gum/dev.mrg.gz data/genia/dev.mrg.gz data/craft/dev.mrg.gz --limit 600
treecrf pack runs/en-large runs/en-large-packed --card recipes/models/cards/en-large.toml --vectors 20000
python recipes/models/train_layers.py runs/en-large-packed runs/en-large-packed recipes/models/en-large-layers.toml \
    --run runs/en-large-layers
treecrf calibrate runs/en-large-packed data/masc/dev.mrg.gz data/gum/dev.mrg.gz data/genia/dev.mrg.gz \
    data/craft/dev.mrg.gz --limit 1500 --keep-weights -o runs/en-large-packed
python recipes/models/train_functions.py runs/en-large-packed runs/en-large-packed \
    masc=data/masc/train.full.mrg.gz gum=data/gum/train.full.mrg.gz genia=data/genia/train.full.mrg.gz:4000 \
    craft=data/craft/train.full.mrg.gz:8000 --dev data/masc/dev.full.mrg.gz --size 192 --epochs 12 --dropout 0.35
python recipes/models/train_empties.py runs/en-large-packed runs/en-large-packed \
    masc=data/masc/train.full.mrg.gz craft=data/craft/train.full.mrg.gz:1500
treecrf pack runs/en-large-packed --card recipes/models/cards/en-large.toml
rm -rf packages/treecrf-en-large
treecrf pack runs/en-large-packed packages/treecrf-en-large --package --package-version 0.2.0 \
    --card recipes/models/cards/en-large.toml
