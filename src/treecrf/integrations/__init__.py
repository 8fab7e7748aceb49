"""Components for other libraries: spaCy and NLTK.

Here: adapters from the objects of those libraries to `Parser` and `Tree`, and back. Not here: parsing itself
(`parser`) and conversions of trees that need no other library (`trees`).
"""
