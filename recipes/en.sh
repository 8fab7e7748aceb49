# Trains the embedded model `en` from treebanks in data/, GloVe vectors and pretrained encoders in encoders/:
# sh recipes/en.sh
# Its teachers are parsers of several kinds, trained on gold trees (recipes/en-teachers.sh, which the other English models
# share). `en` is trained on gold trees and on sentences without gold trees. Four fifths of the loss are distillation.
#
# The weights in the package were trained at commit 4426b83 with these settings, but without recipes/constructions, which
# did not exist; they were packed without temperatures, and then calibrated as in recipes/recalibrate.sh.
set -e
sh recipes/en-teachers.sh
treecrf train recipes/en.toml -o runs/en
treecrf calibrate runs/en data/masc/dev.mrg.gz data/mctb/dev.mrg.gz data/gum/dev.mrg.gz data/genia/dev.mrg.gz \
    data/craft/dev.mrg.gz --limit 600 -o runs/en-calibrated
treecrf pack runs/en-calibrated src/treecrf/models/en --card recipes/cards/en.toml --vectors 20000
