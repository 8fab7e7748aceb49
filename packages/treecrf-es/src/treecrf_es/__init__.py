"""The model es of treecrf: data without code."""
