# Calibrates the models again and renews their cards, after a change of decoding: sh recipes/models/recalibrate.sh [DATA]
# The weights stay as they are. DATA (default: data) has the treebanks. The tables at the end are for docs/results.md.
set -e
data=${1:-data}
english="src/treecrf/parser/models/en src/treecrf/parser/models/en-lstm packages/treecrf-en-large/src/treecrf_en_large/en-large \
    packages/treecrf-en-xl/src/treecrf_en_xl/en-xl"
others="es:cess_esp id:icon is:icepahc,greynir pt:floresta zh:sinica" # a model and its treebanks
# without mctb, whose gold trees are partly random
english_dev="$data/masc/dev.mrg.gz $data/gum/dev.mrg.gz $data/genia/dev.mrg.gz $data/craft/dev.mrg.gz"

folder() { echo "packages/treecrf-$1/src/treecrf_$1/$1"; }
files() { for treebank in $(echo "$2" | tr , ' '); do echo "$data/$treebank/$1.mrg.gz"; done; }

for model in $english; do
    treecrf calibrate $model $english_dev --limit 1500 --keep-weights -o $model
    treecrf pack $model --card recipes/models/cards/${model##*/}.toml --data $data
done
for entry in $others; do
    model=$(folder ${entry%%:*})
    treecrf calibrate $model $(files dev ${entry##*:}) --limit 1000 --keep-weights -o $model
    treecrf pack $model --card recipes/models/cards/${model##*/}.toml --data $data
done

# no model was trained or calibrated on the last three
tests=""
for part in masc/test mctb/test gum/test genia/test craft/test ptb_sample/test ptb_sample/train gum/train_nc; do
    tests="$tests --test $data/$part.mrg.gz"
done
for model in $english; do
    treecrf calibrate $model $english_dev --limit 1500 --only-measure $tests
done
for entry in $others; do
    treecrf calibrate $(folder ${entry%%:*}) $(files dev ${entry##*:}) --limit 1000 --only-measure \
        $(files test ${entry##*:} | sed 's/^/--test /')
done
