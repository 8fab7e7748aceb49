"""The model is of treecrf: data without code."""
