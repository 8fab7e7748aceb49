"""Spanish rules, by the conventions of CESS-ESP: names, dates and fixed expressions are one token each."""

from treecrf.text.latin import LatinRules, phrases, words
from treecrf.trees.treebank.escapes import PENN_ESCAPES

_MONTHS = "enero|febrero|marzo|abril|mayo|junio|julio|agosto|sep?tiembre|octubre|noviembre|diciembre"
_NUMBER = r"\d+(?:[.,]\d+)*"
_DATES = "|".join(
    (
        rf"\d{{1,2}}\s+de\s+(?:{_MONTHS})\b(?:\s+del?\s+\d{{4}}\b)?",
        rf"(?:{_MONTHS})\s+del?\s+\d{{4}}\b",
        r"año\s+\d{4}\b",
        rf"{_NUMBER}(?:\s+por\s+ciento\b|\s?%)",
    )
)
_EXPRESSIONS = phrases(
    "a base de, a bordo, a cambio, a causa de, a continuación, a costa de, a diario, a diferencia de, a excepción de, "
    "a favor de, a favor del, a fin de, a fin de cuentas, a la espera de, a la vez, a la vez que, a lo largo de, a lo "
    "largo del, a lo mejor, a mediados de, a medias, a medida que, a menudo, a más tardar, a partir de, a partir del, "
    "a pesar de, a pesar de que, a pesar del, a principios de, a punto de, a raíz de, a raíz del, a solas, a tiempo, a "
    "través de, a través del, a veces, acerca de, acerca del, además de, además del, al cabo de, al contrario, al fin "
    "y al cabo, al final, al frente de, al igual que, al margen, al menos, al mismo tiempo que, al máximo, al "
    "principio, al respecto, al revés, al tiempo que, alrededor de, aparte de, así como, así pues, así que, aún así, "
    "cien por cien, con creces, con el objetivo de, con el propósito de, con motivo de, con motivo del, con respecto "
    "a, con tal de, con vistas a, cuanto antes, dado que, darse cuenta, de acuerdo con, de antemano, de golpe, de "
    "hecho, de inmediato, de modo que, de momento, de nuevo, de por vida, de pronto, de repente, de súbito, de verdad, "
    "de vez en cuando, debido a, debido al, del todo, derechos humanos, desde luego, detrás de, en absoluto, en base "
    "a, en breve, en cambio, en caso de, en cierto modo, en colaboración con, en común, en concreto, en consecuencia, "
    "en contra de, en cuanto a, en cuanto al, en dirección a, en efecto, en el caso de que, en especial, en favor de, "
    "en favor del, en fin, en general, en lugar de, en manos de, en materia de, en medio de, en mitad de, en parte, en "
    "particular, en privado, en realidad, en referencia a, en relación a, en serio, en tanto que, en todo caso, en "
    "torno a, en torno al, en vano, en vez de, en virtud de, en vías de, entre tanto, es decir, frente a, frente al, "
    "fuera de juego, gracias a, hoy día, hoy por hoy, junto a, junto al, junto con, llevar a cabo, lo mismo, mientras "
    "que, mientras tanto, más bien, ni siquiera, no obstante, no sólo, o bien, o sea, para nada, per cápita, pese a, "
    "pese a que, pese al, poner en marcha, poner fin, por ahora, por casualidad, por cierto, por completo, por "
    "consiguiente, por debajo de, por ejemplo, por el contrario, por encima de, por fin, por fortuna, por igual, por "
    "lo menos, por lo tanto, por medio de, por medio del, por otro lado, por parte de, por supuesto, por tanto, por "
    "último, pues bien, puesta en marcha, puesto que, respecto a, respecto al, respecto de, si bien, siempre que, sin "
    "duda, sin embargo, sino que, sino también, sobre todo, tal como, tal vez, tal y como, tan sólo, tener en cuenta, "
    "tener lugar, un poco, un tanto, una vez que, ya que"
)

RULES = LatinRules(
    abbreviations=words(
        "sr sra srta sres dr dra d dña ud uds vd vds lic ing arq prof profa gral cnel cap tte fr sto sta san av avda c",
        "núm no nro pág págs p pp art arts fig figs cap vol tel aprox ca cf ej etc máx mín hnos cía admón dpto ed eds",
        "ee jj ss mm rr",
    ),
    openers=words(
        "el la los las lo un una unos unas este esta estos estas ese esa esos esas aquel aquella esto eso su sus mi tu",
        "nuestro nuestra otro otra otros otras todo toda todos todas algún alguna algunos algunas ningún cada ambos",
        "ambas varios varias y e o ni pero sino que si no sí como cuando donde mientras aunque porque pues según para",
        "por con sin de del desde en entre hacia hasta sobre tras ante bajo contra durante a al se le les me nos te él",
        "ella ellos yo tú usted nosotros quien quienes cual qué quién cómo cuándo dónde es era fue son ha han hay hace",
        "más también además así ahora ayer hoy luego entonces después antes ya aún todavía tampoco quizá quizás",
        "incluso asimismo sólo solo casi muy mucho muchos poco nada nadie nunca algo dos tres cuatro cinco ex señor",
        "señora don doña",
    ),
    connectors="-.'’&/",
    treebank_words={**PENN_ESCAPES, "—": "-", "–": "-", "…": "..."},
    expressions=f"{_DATES}|{_EXPRESSIONS}",
    name_links=r"(?:(?:del?|de\s+las?|de\s+los|da|do|von|van|di)\s+)?",
)
