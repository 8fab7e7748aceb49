"""Export: packs training runs into small models with model cards."""
