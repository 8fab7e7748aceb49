"""From strings to numbers: the vocabulary, sentences and trees in its terms, and how they are put into batches."""
