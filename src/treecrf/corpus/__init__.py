"""Corpora: files and streams of sentences in, files of trees and measures out.

Here: inputs, outputs that resume after a crash, shards, the Ray engine, and measures of syntactic complexity. Not
here: parsing itself (`parser`) and formats of single trees (`trees`).
"""
