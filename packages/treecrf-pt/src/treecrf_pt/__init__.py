"""The model pt of treecrf: data without code."""
