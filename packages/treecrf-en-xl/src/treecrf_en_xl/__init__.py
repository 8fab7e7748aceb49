"""The model en-xl of treecrf: data without code."""
