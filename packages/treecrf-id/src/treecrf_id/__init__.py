"""The model id of treecrf: data without code."""
