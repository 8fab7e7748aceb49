"""Annotation: trees that people correct, one action at a time, with the rest parsed again after each action.

events.py    the log: one JSON line per action, append-only
doubt.py     which sentences to annotate first, and what can be kept as it is
check.py     a file of trees that was edited by hand, compared with its original
state.py     actions change what is fixed about a tree: brackets, tags and words, with undo and redo
project.py   the folder: sentences, a log for each annotator, and exported trees
session.py   a parser and a folder together: parsing under what is fixed, the queue, search, agreement
"""
