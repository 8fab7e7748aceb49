# Calibrates the models again and renews their cards, after a change of decoding: sh recipes/recalibrate.sh [DATA]
# The weights stay as they are. DATA (default: data) has the treebanks. The tables at the end are for docs/results.md.
set -e
data=${1:-data}
english="src/treecrf/models/en src/treecrf/models/en-lstm packages/treecrf-en-large/src/treecrf_en_large/en-large"
zh=packages/treecrf-zh/src/treecrf_zh/zh
dev="$data/masc/dev.mrg.gz $data/mctb/dev.mrg.gz $data/gum/dev.mrg.gz $data/genia/dev.mrg.gz $data/craft/dev.mrg.gz"

for model in $english; do
    treecrf calibrate $model $dev --limit 600 --keep-weights -o $model
done
treecrf calibrate $zh $data/sinica/dev.mrg.gz --keep-weights -o $zh

for model in $english $zh; do
    treecrf pack $model --card recipes/cards/${model##*/}.toml --data $data
done

# no model was trained or calibrated on the last three
tests=""
for part in masc/test mctb/test gum/test genia/test craft/test ptb_sample/test ptb_sample/train gum/train_nc; do
    tests="$tests --test $data/$part.mrg.gz"
done
for model in $english; do
    treecrf calibrate $model $dev --limit 600 --only-measure $tests
done
treecrf calibrate $zh $data/sinica/dev.mrg.gz --only-measure --test $data/sinica/test.mrg.gz
