# Trains the embedded model `en` from treebanks in data/, GloVe vectors and pretrained encoders in encoders/:
# sh recipes/models/en.sh
# Its teachers are some of the parsers that en-teachers.sh trains on gold trees for all English models. `en` is
# trained on gold trees and on sentences without gold trees. Four fifths of the loss are distillation. After capitals were
# fitted, its layers and scorers are trained again, with stronger teachers.
#
# For the weights in the package, the encoders were rounded to 7 or 8 bits and the word vectors to 8 before training, and
# the trees of the sentences without gold trees were made by the first `en-large` in the second training.
set -e
sh recipes/models/en-teachers.sh
treecrf train --no-calibration recipes/models/en.toml -o runs/en
treecrf pack runs/en src/treecrf/parser/models/en --card recipes/models/cards/en.toml --vectors 20000 --weight-step 0.2
python recipes/models/fit_capitals.py src/treecrf/parser/models/en src/treecrf/parser/models/en data/masc/dev.mrg.gz data/mctb/dev.mrg.gz \
    data/gum/dev.mrg.gz data/genia/dev.mrg.gz data/craft/dev.mrg.gz --limit 600
python recipes/models/train_layers.py src/treecrf/parser/models/en src/treecrf/parser/models/en recipes/models/en-layers.toml --run runs/en-layers
treecrf calibrate src/treecrf/parser/models/en data/masc/dev.mrg.gz data/gum/dev.mrg.gz data/genia/dev.mrg.gz \
    data/craft/dev.mrg.gz --limit 1500 --keep-weights -o src/treecrf/parser/models/en
python recipes/models/train_functions.py src/treecrf/parser/models/en src/treecrf/parser/models/en \
    masc=data/masc/train.full.mrg.gz gum=data/gum/train.full.mrg.gz genia=data/genia/train.full.mrg.gz:2000 \
    craft=data/craft/train.full.mrg.gz:4000 --dev data/masc/dev.full.mrg.gz
python recipes/models/train_empties.py src/treecrf/parser/models/en src/treecrf/parser/models/en \
    masc=data/masc/train.full.mrg.gz craft=data/craft/train.full.mrg.gz:1500
treecrf pack src/treecrf/parser/models/en --card recipes/models/cards/en.toml
