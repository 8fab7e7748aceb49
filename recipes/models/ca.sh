# Trains the model `ca` from CESS-CAT: sh recipes/models/ca.sh
set -e
sh recipes/models/language.sh ca cess_cat 0.3
