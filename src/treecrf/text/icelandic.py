"""Icelandic rules, by the conventions of GreynirCorpus: names, dates, amounts and fixed expressions are one token."""

from treecrf.text.latin import LatinRules, phrases, words

_MONTHS = "janúar|febrúar|mars|apríl|maí|júní|júlí|ágúst|september|október|nóvember|desember"
_NUMBER = r"\d+(?:[.,]\d+)*"
_SCALES = (
    r"(?:þúsund\w{0,2}|milljón\w{0,2}|milljarð\w{0,2}|milljörð\w{0,2}|prósent\w{0,3}|km|kílómetr\w{0,2}|metr\w{0,2})"
)
_CURRENCIES = r"(?:kr\.|krón\w{0,2}|evr\w{0,2}|doll?ar\w{0,2}|pund\w{0,2})"
_NUMBERS = "|".join(
    (
        rf"\d{{1,2}}\.\s+(?:{_MONTHS})\b(?:\s+\d{{4}}\b)?",
        rf"(?:{_MONTHS})\s+\d{{4}}\b",
        r"ár(?:ið|inu|sins)\s+\d{4}\b",
        r"klukkan\s+\d{1,2}(?:[.:]\d\d)?\b",
        rf"{_NUMBER}\s+(?:{_SCALES})(?:\s+(?:{_CURRENCIES}))?",
        rf"{_NUMBER}\s+(?:{_CURRENCIES})",
    )
)
_COMPOUNDS = r"\w+-\s+og\s+\w+"  # "mennta- og menningarmálaráðherra"
_EXPRESSIONS = phrases(
    "aftur og aftur, aftur á móti, alls ekki, alls staðar, allt of, annars staðar, annars vegar, auk þess, að endingu, "
    "að minnsta kosti, að sjálfsögðu, að svo stöddu, að undanförnu, að þessu sinni, ef til vill, einhvers staðar, einu "
    "sinni, ekki síst, engu að síður, fyrir hönd, fyrir ofan, fyrir utan, fyrst og fremst, hins vegar, hið minnsta, "
    "hægra megin, hér að neðan, hér á landi, innan skamms, innan við, meira að segja, meðal annars, nokkrum sinnum, "
    "nokkurn veginn, oftar en ekki, samanborið við, skömmu eftir, skömmu fyrir, sums staðar, til baka, til dæmis, til "
    "frambúðar, upp úr, vinstra megin, vítt og breitt, á bilinu, á dögunum, á endanum, á hendur, á meðan, á milli, á "
    "morgnana, á morgun, á næstunni, á ný, á sama tíma, á sínum tíma, á þeim tíma, á þessum tíma, ár hvert, í fyrsta "
    "sinn, í för með sér, í gegn, í gegnum, í gær, í gærkvöld, í gærkvöldi, í kjölfarið, í kringum, í kvöld, í morgun, "
    "í senn, í ár, í það minnsta, þar að auki, þrátt fyrir, þvert á, því miður"
)

RULES = LatinRules(
    abbreviations=words(
        "a.m.k áætl bls ca dags dr e.kr e.t.v f.h f.kr fr frk gr hf ehf hr kl kr lögr m.a m.a.s m.t.t m.v mgr millj",
        "n.k nk nr o.fl o.s.frv o.þ.h próf r s.k s.s sbr skv skr sl st t.d t.a.m tbl tlf u.þ.b vsk þ.á.m þ.e þ.e.a.s",
        "þús þ.m.t th sr mt sept inc ltd jr etc",
    ),
    openers=words(
        "það í ég hann við þetta þá á hún en þar þegar ekki eftir þeir samkvæmt ef að með og svo um hér nú því þannig",
        "mér þau þessi hvað frá var er af sá sú eins til síðan einn einnig alls önnur þú sagði bæði hvernig fyrir",
        "ekkert þó þess enn þær sem okkur nokkur þann áður margir hvar allir mig hjá annar þótt þrír sumir enginn já",
        "eru fyrsti hver engin eitt þessu hafi flest þaðan hefur okkar vegna meðal auk úr undir yfir milli allt öll",
        "tveir þessum fólk háskóli ríkisstjórn forseti stjórn þingmenn leikkonan leikarinn söngvarinn söngkonan",
        "íslandsvinurinn",
    ),
    word_ending=r"(?:-(?!\w)|%)?",
    expressions=f"{_NUMBERS}|{_COMPOUNDS}|{_EXPRESSIONS}",
    connectors="-.'’&/",
    # these words follow the names of institutions and are tokens of their own
    name_links=r"(?!(?:Íslands|Reykjavíkur|Bandaríkjanna|Sameinuðu)\b)(?:(?:de|van|von)\s+)?",
)
