"""Arcs of a sentence while it is converted."""


class Arcs:
    """The head and the relation of each word; the head of a word that is not attached is -1."""

    def __init__(self, words: int) -> None:
        self.heads = [-1] * words
        self.relations = ["dep"] * words

    def attach(self, word: int, head: int, relation: str) -> None:
        """Makes `head` the head of a word; a word is not attached to itself."""
        if word != head:
            self.heads[word] = head
            self.relations[word] = relation

    def dependents(self, head: int) -> list[int]:
        """The words whose head is `head`."""
        return [word for word, word_head in enumerate(self.heads) if word_head == head]

    def promote(self, word: int, head: int, relation: str) -> None:
        """Makes a word the head of `head` and of its dependents; `head` gets the relation to the word."""
        for dependent in self.dependents(head):
            self.attach(dependent, word, self.relations[dependent])
        self.heads[word] = -1
        self.attach(head, word, relation)
