# Trains the model `pt` from Floresta: sh recipes/models/pt.sh
set -e
sh recipes/models/language.sh pt floresta 0.4
