"""The HTTP server: JSON, CoreNLP's protocol, and the web page.

Here: requests and their limits, the queue in front of the parser, and the answers. Not here: parsing (`parser`) and
output formats of trees (`parser.formats`, `trees.drawing`).
"""
