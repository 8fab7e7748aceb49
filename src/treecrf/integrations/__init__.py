"""Integrations with spaCy and NLTK."""
