"""The model en-large of treecrf: data without code."""
