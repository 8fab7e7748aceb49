"""Corpora: files and streams of sentences in, files of trees and measures out.

Here: inputs, outputs that resume after a crash, shards, the Ray engine, measures of syntactic complexity, and trees
that people correct. Not here: parsing itself (`parser`) and formats of single trees (`trees`).
"""
