"""Indonesian rules, by the conventions of ICON: hyphens and the clitic -nya are tokens of their own."""

import re

from treecrf.text.latin import LatinRules, words

# words with -nya that are one token: adverbs, conjunctions, and roots that end in "nya"
_UNSPLIT = words(
    "hanya punya tanya bertanya ditanya menanya empunya nyonya misalnya biasanya lainnya sebelumnya akhirnya",
    "sebenarnya adanya antaranya umumnya seharusnya selanjutnya tampaknya sebabnya sebaliknya khususnya rupanya",
    "soalnya sebetulnya awalnya setidaknya semestinya agaknya sesungguhnya berikutnya anehnya sejatinya mestinya",
    "dulunya banyaknya selebihnya sayangnya akibatnya sepenuhnya nantinya mulanya sebagainya kabarnya tentunya",
    "layaknya tepatnya seadanya bukannya umpamanya sepertinya sedianya pasalnya persisnya secepatnya makanya segalanya",
    "kelihatannya sebaiknya celakanya nyatanya memangnya lazimnya pokoknya idealnya kiranya munculnya masuknya",
    "jatuhnya maraknya pentingnya besarnya mahalnya sulitnya kurangnya kuatnya tewasnya lolosnya lahirnya rusaknya",
    "turunnya cepatnya",
)
_CLITIC = "nya"
_RUPIAH = re.compile(r"(?i)rp(?=\d)")
_VERB_PREFIXES = ("ter", "ber")  # nouns from verbs, such as "terbentuknya", are one token


def split_word(word: str) -> tuple[tuple[int, str], ...]:
    """The word and its clitic -nya, or the sign of a currency and its number; other words are one token."""
    if _RUPIAH.match(word):
        return (2, word[:2]), (len(word), word[2:])
    lower = word.lower()
    end = len(word) - len(_CLITIC)
    if not lower.endswith(_CLITIC) or end < 2 or lower in _UNSPLIT or lower.startswith(_VERB_PREFIXES):
        return ((len(word), word),)
    return (end, word[:end]), (len(word), word[end:])


RULES = LatinRules(
    abbreviations=words(
        "h hj kh k.h dr drs dra ir prof sdr moh muh st no tbk pt cv jl jend letjen mayjen brigjen kol dkk dll dsb hlm",
        "rp inc ltd pte corp mr mrs ms jr mgr purn pol vit ud translit",
    ),
    openers=words(
        "yang dan di ke dari pada dalam untuk dengan oleh karena bahwa jika kalau bila ketika saat sejak sampai",
        "setelah sebelum sementara meski meskipun walaupun namun tetapi tapi akan atau juga itu ini ia dia mereka kami",
        "kita saya para menurut selain antara sebagai seperti bagi tak tidak bukan ada adalah begitu lalu kemudian",
        "kini semua setiap",
    ),
    connectors=".'’",
    split_word=split_word,
)
