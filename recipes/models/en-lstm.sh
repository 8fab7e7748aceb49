# Trains the embedded model `en-lstm` from treebanks in data/, GloVe vectors and pretrained encoders in encoders/:
# sh recipes/models/en-lstm.sh
# It has the teachers of the first training of `en-large` (en-teachers.sh).
#
# The weights in the package were trained at commit 4426b83 with these settings, but without constructions/, which
# did not exist; they were packed without temperatures, and then calibrated as in recalibrate.sh.
set -e
sh recipes/models/en-teachers.sh
treecrf train --no-calibration recipes/models/en-lstm.toml -o runs/en-lstm
treecrf calibrate runs/en-lstm data/masc/dev.mrg.gz data/gum/dev.mrg.gz data/genia/dev.mrg.gz data/craft/dev.mrg.gz \
    --limit 1500 -o runs/en-lstm-calibrated
treecrf pack runs/en-lstm-calibrated src/treecrf/parser/models/en-lstm --card recipes/models/cards/en-lstm.toml --vectors 41396
