"""Export: small models with model cards, made from training runs."""
