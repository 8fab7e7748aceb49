# Trains the model `es` from CESS-ESP: sh recipes/models/es.sh
set -e
mkdir -p data/constructions
python benchmarks/constructions.py --language es --trees train --count 400 > data/constructions/es.mrg
sh recipes/models/language.sh es cess_esp 0.3
