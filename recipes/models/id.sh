# Trains the model `id` from ICON: sh recipes/models/id.sh
set -e
mkdir -p data/constructions
python benchmarks/constructions.py --language id --trees train --count 400 > data/constructions/id.mrg
sh recipes/models/language.sh id icon 0.3
