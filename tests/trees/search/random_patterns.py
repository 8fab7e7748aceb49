"""Random patterns that refer to labels of random trees."""

from random import Random

from treecrf.trees.search import Pattern, PatternError
from treecrf.trees.search.relations import RELATIONS, SYNONYMS

PLAIN = sorted((set(RELATIONS) | set(SYNONYMS)) - {"<i", ">i", "<+", ">+", ".+", ",+"})
PATHS = ["<+(NP)", ">+(!NP)", ".+(@NP)", ",+(/N/)", ".+(__)", "<+(__)", ",+(__)"]
LABEL_TEXTS = ["NP", "NN|VP", "/^N/", "/N(.*)/#1%x", "@NP", "!NP", "__", "!@NP", "/(.)$/#1%x#0%y", "_ROOT_", "!_ROOT_"]


class RandomPattern:
    """A pattern that refers only to names it has declared, and names no node under a negation."""

    def __init__(self, random: Random) -> None:
        self.random = random
        self.names: list[str] = []
        self.text = f"{random.choice(LABEL_TEXTS)} {self.related(2, is_negated=False)}"

    def relation(self) -> str:
        number = self.random.choice([1, 2, 3, -1, -2, -3])
        return self.random.choice([*PLAIN, *PATHS, f"<{number}", f">{number}"])

    def description(self, depth: int, *, is_negated: bool) -> str:
        kind = self.random.randint(0, 5)
        if self.names and kind < 2:
            return self.random.choice(["=", "~", "@~"]) + self.random.choice(self.names)
        text = self.random.choice(LABEL_TEXTS)
        if kind == 2 and not is_negated:
            self.names.append(f"n{len(self.names)}")
            text += "=" + self.names[-1]
        inner = self.related(depth - 1, is_negated=is_negated) if depth > 0 and self.random.random() < 0.5 else ""
        return f"({text} {inner})" if inner else text

    def related(self, depth: int, *, is_negated: bool) -> str:
        parts = [self.modified(depth, is_negated=is_negated) for _ in range(self.random.randint(1, 2))]
        return self.random.choice([" ", " & "]).join(parts)

    def modified(self, depth: int, *, is_negated: bool) -> str:
        mark = self.random.choice(["", "", "", "!", "?"])
        is_negated = is_negated or mark == "!"
        if depth > 0 and self.random.random() < 0.25:
            names = list(self.names)
            first = self.related(depth - 1, is_negated=is_negated)
            self.names = names
            second = self.related(depth - 1, is_negated=is_negated)
            return f"{mark}[{first} | {second}]"
        return f"{mark}{self.relation()} {self.description(depth, is_negated=is_negated)}"


def compile_random_pattern(random: Random) -> Pattern:
    """Draws patterns until one compiles: '?' before brackets with a single negated relation is an error."""
    while True:
        try:
            return Pattern(RandomPattern(random).text)
        except PatternError as error:
            assert "optional" in error.reason or "declared twice" in error.reason or "no node" in error.reason
