# Trains the model `es` from CESS-ESP: sh recipes/models/es.sh
set -e
sh recipes/models/language.sh es cess_esp 0.3
