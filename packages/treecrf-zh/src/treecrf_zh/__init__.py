"""The model zh of treecrf: data without code."""
