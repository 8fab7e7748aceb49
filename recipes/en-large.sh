# Trains the model `en-large` from treebanks in data/, GloVe vectors and pretrained encoders in encoders/:
# sh recipes/en-large.sh
# Its teachers are those of `en` (recipes/en-teachers.sh).
#
# The weights in packages/treecrf-en-large were trained at commit 4426b83 with these settings, but without
# recipes/constructions, which did not exist; they were packed without temperatures, and then calibrated as in
# recipes/recalibrate.sh; capitals were fitted last.
set -e
sh recipes/en-teachers.sh
treecrf train recipes/en-large.toml -o runs/en-large
treecrf calibrate runs/en-large data/masc/dev.mrg.gz data/mctb/dev.mrg.gz data/gum/dev.mrg.gz data/genia/dev.mrg.gz \
    data/craft/dev.mrg.gz --limit 600 -o runs/en-large-calibrated
python recipes/fit_capitals.py runs/en-large-calibrated runs/en-large-calibrated data/masc/dev.mrg.gz \
    data/mctb/dev.mrg.gz data/gum/dev.mrg.gz data/genia/dev.mrg.gz data/craft/dev.mrg.gz --limit 600
rm -rf packages/treecrf-en-large
treecrf pack runs/en-large-calibrated packages/treecrf-en-large --package --package-version 0.2.0 \
    --card recipes/cards/en-large.toml --vectors 20000
