"""Portuguese rules, by the conventions of Floresta.

Contractions are two tokens ("do": "de", "o"). Pronouns after a hyphen are tokens ("trata-se": "trata-", "se"). Names
and fixed expressions are one token each. The treebank writes round brackets as braces, and colons as semicolons.
"""

import re
from collections.abc import Iterator

from treecrf.text.latin import LatinRules, phrases, words

_ARTICLES = "o a os as"
_DEMONSTRATIVES = "este esta estes estas esse essa esses essas aquele aquela aqueles aquelas isto isso aquilo"
_OTHERS = "um uma uns umas ele ela eles elas outro outra outros outras"


def _contractions() -> Iterator[tuple[str, tuple[tuple[int, str], ...]]]:
    """Each contraction with its tokens: their ends in the contraction, and the tokens."""
    for second in f"{_ARTICLES} {_DEMONSTRATIVES} {_OTHERS} aqui aí ali onde".split():
        yield f"d{second}", ((1, "de"), (1 + len(second), second))
    for second in f"{_ARTICLES} {_DEMONSTRATIVES} {_OTHERS}".split():
        yield f"n{second}", ((1, "em"), (1 + len(second), second))
    for second in _ARTICLES.split():
        yield f"pel{second}", ((3, "por"), (3 + len(second), second))
    for second in ("o", "os"):
        yield f"a{second}", ((1, "a"), (1 + len(second), second))
    yield "à", ((1, "a"), (1, "a"))
    for rest in ("s", "quele", "quela", "queles", "quelas", "quilo"):
        yield f"à{rest}", ((1, "a"), (1 + len(rest), f"a{rest}"))


_CONTRACTIONS = dict(_contractions())
# the start of a pronoun, or of the ending of a verb after its pronoun ("dir-lhe-ei")
_PART_START = re.compile(
    r"(?i)(?<=\w-)(?:(?:se|me|te|nos|vos|lhes?|[oa]s?|l[oa]s?|n[oa]s?)(?=-|\Z)|(?:ei|á|ás|ão|emos|ia|ias|iam|íamos)\Z)"
)


def split_word(word: str) -> tuple[tuple[int, str], ...]:
    """The tokens of a contraction or of a verb with pronouns after hyphens; other words are one token."""
    tokens = _CONTRACTIONS.get(word.lower())
    if tokens is not None:
        (first_end, first), *rest = tokens
        return (first_end, first.capitalize() if word[0].isupper() else first), *rest
    ends = [match.start() for match in _PART_START.finditer(word)] + [len(word)]
    starts = [0, *ends[:-1]]
    return tuple((end, word[start:end]) for start, end in zip(starts, ends, strict=True))


# the last word of an expression may be the first token of a contraction, as in "cerca dos"
_ENDINGS = {"de": r"d(?:e\b|(?=\w))", "a": r"(?:a(?=os?\b)|a\b|à(?=s?\b))"}
_EXPRESSIONS = phrases(
    "a bordo, a cargo de, a favor de, a fim de, a longo prazo, a não ser que, a par de, a partir de, a propósito de, a "
    "pé, a qual, acerca de, acima de, ainda assim, ainda que, além de, ao ar livre, ao contrário de, ao lado de, ao "
    "longo de, ao mesmo tempo, apesar de, apesar disso, as quais, atrás de, até mesmo, bem como, cada um, cada vez "
    "mais, cerca de, com efeito, como se, da parte de, de acordo, de facto, de fato, de fora, de forma a, de graça, de "
    "imediato, de madrugada, de modo a, de novo, de resto, de um lado, de vez em quando, de volta, dentro de, desde "
    "então, desde já, desde logo, desde que, desta feita, desta forma, desta vez, devido a, diante de, do que, eis "
    "que, em breve, em casa, em causa, em cima de, em conta, em contrapartida, em curso, em direção a, em favor de, em "
    "frente, em função de, em geral, em parte, em particular, em princípio, em público, em relação a, em seguida, em "
    "si, em termos de, em torno de, em troca, em vez de, em vias de, em vigor, entre si, face a, fim de semana, fora "
    "de, frente a, graças a, hoje em dia, junto com, já não, já que, mais de, mais ou menos, mais uma vez, meia dúzia, "
    "menos de, mesmo assim, muitas vezes, na presença de, nem sequer, nessa altura, no caso de, no decurso de, no "
    "entanto, no meio de, não só, o qual, o que, opinião pública, os quais, ou seja, outra vez, pano de fundo, para "
    "além de, para fora de, para já, pela primeira vez, pelo contrário, pelo menos, perto de, ponto de vista, por "
    "acaso, por causa de, por cento, por enquanto, por entre, por escrito, por exemplo, por fim, por meio de, por "
    "onde, por outro lado, por parte de, por pessoa, por que, por si, por sua vez, por um lado, por vezes, por volta "
    "de, postos de trabalho, próximo de, quanto a, relativamente a, rumo a, sempre que, tal como, toda a, toda a "
    "gente, todas as, todos os, todos os dias, tudo isto, tudo o que, um pouco, uma vez mais, uma vez que, visto que, "
    "à beira de, à medida que, à primeira vista, à volta de, às vezes",
    _ENDINGS,
)

RULES = LatinRules(
    abbreviations=words(
        "sr sra srs dr dra drs d dom eng arq prof profa gen cel cap ten pe sto sta av r nº no n tel pág págs p pp art",
        "arts fig figs séc sécs vol ed cf etc ex aprox máx mín cia ltda jr fund min seg ter qua qui sex sáb",
    ),
    openers=words(
        "o a os as um uma uns umas este esta estes estas esse essa esses essas aquele aquela isto isso seu sua seus",
        "suas meu minha nosso nossa outro outra outros outras todo toda todos todas alguns algumas algum alguma nenhum",
        "cada ambos ambas vários várias e ou nem mas que se não sim como quando onde enquanto embora porque pois",
        "segundo para por com sem de do da dos das desde em no na nos nas num numa entre até sobre após ante sob",
        "contra durante ao à aos às pelo pela pelos pelas ele ela eles elas eu tu você vocês nós quem qual quais",
        "quanto é era foi são foram há tem está mais também assim agora ontem hoje depois antes já ainda talvez mesmo",
        "só apenas muito muitos pouco nada ninguém nunca algo dois duas três quatro cinco neste nesta nesse nessa",
        "deste desta também entretanto aliás",
    ),
    treebank_words={"(": "{", ")": "}", ":": ";", "—": "--", "–": "--", "…": "..."},
    split_word=split_word,
    expressions=_EXPRESSIONS,
    name_links=r"(?:(?:d[eoa]s?|del?\s+la|von|van|di)\s+)?",
)
