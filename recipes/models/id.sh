# Trains the model `id` from ICON: sh recipes/models/id.sh
set -e
sh recipes/models/language.sh id icon 0.3
