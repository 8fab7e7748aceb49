"""The parser: text or words in, trees out.

Here: `Parser`, its pipeline from words to trees, decoding, models by name, and model folders on the disk. Not here:
training and calibration (`training`), files and streams of sentences (`corpus`), and HTTP (`server`).
"""

from treecrf.parser.parser import Parser

__all__ = ["Parser"]
