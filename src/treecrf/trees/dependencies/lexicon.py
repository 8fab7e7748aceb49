"""Word lists for dependencies: auxiliaries, fixed expressions, parts of names, and classes of verbs."""


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


BE = _words("be is are was were been being am 's 're 'm ai s re m")
HAVE = _words("have has had having 've 'd 's ve")
DO = _words("do does did doing")
GET = _words("get gets got gotten getting")
AUXILIARIES = BE | HAVE | DO | GET

# fixed expressions, and the tag that the whole expression has as one word; the first word is the head
FIXED = {
    tuple(words.split()): tag
    for tag, expressions in {
        "IN": (
            "such as",
            "due to",
            "because of",
            "instead of",
            "according to",
            "prior to",
            "as to",
            "as opposed to",
            "in case of",
            "in between",
            "so that",
            "as if",
            "as though",
            "in order",
            "in case",
            "whether or not",
            "so as",
            "rather than",
            "how come",
        ),
        "CC": ("as well as", "not to mention", "let alone"),
        "RB": ("as well", "of course", "kind of", "sort of", "at least", "all but", "vice versa", "per se"),
        "RB in QP": ("more than", "less than", "up to", "fewer than"),
        "MD": ("had better", "'d better"),
        "PRP": ("one another",),
    }.items()
    for words in expressions
}

MONTHS = _words(
    """
    january february march april may june july august september october november december jan. feb. mar. apr.
    jun. jul. aug. sep. sept. oct. nov. dec.
    """
)
TEMPORAL_NOUNS = MONTHS | _words(
    """
    today tomorrow yesterday tonight monday tuesday wednesday thursday friday saturday sunday second seconds
    minute minutes hour hours day days week weeks weekend month months year years decade decades century
    centuries morning mornings afternoon evening evenings night nights noon midnight time times summer winter
    spring autumn moment while season weekday
    """
)
LOCATIVE_ADVERBS = _words(
    """
    here there where home away back up down in out on off over around ahead abroad upstairs downstairs inside
    outside everywhere nowhere somewhere nearby together above below behind now then
    """
)

# predicates whose wh-clause is a question; after other verbs it is a free relative
QUESTION_PREDICATES = _words(
    """
    know knew known knows knowing ask asked asks asking wonder wondered wondering wonders see sees saw seen
    seeing understand understood understands understanding tell told tells telling explain explained explains
    explaining show showed shown shows showing decide decided deciding decides figure figured figuring find
    found finding finds learn learned learning learns say said saying says think thought thinking thinks
    remember remembered remembering remembers forget forgot forgotten imagine imagined imagining discuss
    discussed discussing determine determined determining determines consider considered considering describe
    described describes describing guess guessed realize realized realizing check checked checking care cares
    cared matter matters sure clear unclear question questioned examine examined examining investigate
    investigated study studied predict predicted notice noticed hear heard teach taught discover discovered
    demonstrate demonstrated indicate indicates indicated identify identified reveal revealed reveals illustrate
    illustrates suggest suggests recall recalled watch watched confirm confirmed specify state certain aware
    """
)
QUESTION_PREPOSITIONS = _words("about of on over regarding concerning into as")
# verbs with a noun phrase as a predicate about their subject
LINKING_VERBS = _words("become becomes became becoming remain remains remained remaining")
CONTROL_ADJECTIVES = _words("able unable likely unlikely ready willing unwilling eager supposed sure bound")
# speech beside the clause that it comments on: "you know", "I mean"
COMMENT_VERBS = _words("know mean guess think suppose see believe hope say")
# verbs whose object may be a time, and verbs with a person and a clause as objects
VERBS_OF_TIME = _words("spend spends spent spending save saves saved saving take takes took taking waste have has had")
VERBS_OF_TELLING = _words("tell tells told telling show shows showed shown showing ask asks asked asking teach taught")
SUBORDINATORS_OF_COMPLEMENTS = frozenset(("that", "whether", "if"))

TITLES = _words(
    """
    vice prime mr. mr mrs. mrs ms. ms miss dr. dr prof. prof professor president senator sen. representative rep.
    congressman congresswoman secretary minister chancellor governor gov. mayor judge justice king queen prince
    princess emperor empress sir lord lady dame captain capt. colonel col. general gen. major maj. lieutenant
    lt. sergeant sgt. admiral commander officer detective inspector pope bishop archbishop cardinal father
    brother sister mother saint reverend rev. rabbi uncle aunt master doctor chief coach ambassador director
    chairman counsel
    """
)
NAME_SUFFIXES = _words("jr. jr sr. sr inc. inc corp. corp ltd. ltd llc co. esq. ph.d. m.d.")
# first words of names that are headed by their first word: Lake Erie, San Francisco, World War II
HEAD_INITIAL_NAMES = _words(
    """
    lake mount mt. fort san santa santo los las el la le rio cape port st. ste. hotel camp route highway
    interstate chapter section figure fig. table volume act article page psalm apollo windows
    """
)
# nouns that a person's name does not contain
INSTITUTION_NOUNS = _words(
    """
    university college school institute academy library libraries museum center centre street avenue road square
    park bridge river bay island islands sea ocean valley mountain mountains hill hills beach city town county
    state states kingdom republic union nations house senate congress court department ministry office agency
    bureau council commission committee board party army navy force forces corps church cathedral temple
    hospital bank company corporation group association society foundation club team league cup games times post
    journal news magazine press radio television network studios records music festival award awards prize act
    law treaty war revolution constitution day week month year project program plan system service services airport
    station hall building tower palace castle garden gardens theatre theater stadium coast north south east west
    northern southern eastern western central new old great national international american british french
    german english european african asian chinese japanese indian russian dutch italian spanish canadian
    australian royal federal united first second third world internet web wiki game engine software language
    languages science sciences studies humanities research data lane drive boulevard plaza district region
    province territory desert forest canyon falls springs creek lake gate port harbor model theory test method
    effect tv usa us uk supreme high middle lower upper public air white black red blue green golden big little
    grand series season episode hotel inn restaurant cafe bar market store shop mall airlines airways railway
    railroad line express mail review report reports code bill rights health care medical cancer disease virus
    cyclone hurricane storm summit conference forum assembly parliament labor labour democratic republican
    socialist communist liberal conservative youth women men children family christmas easter thanksgiving
    halloween independence liberty freedom justice peace
    """
)
GIVEN_NAMES = _words(
    """
    james john robert michael william david richard joseph thomas charles christopher daniel matthew anthony
    mark donald steven steve paul andrew joshua kenneth kevin brian george edward ronald timothy jason jeffrey
    ryan jacob gary nicholas eric jonathan stephen larry justin scott brandon benjamin samuel gregory frank
    alexander raymond patrick jack dennis jerry tyler aaron jose henry adam douglas nathan peter zachary kyle
    walter harold jeremy ethan carl keith roger gerald christian terry sean arthur austin noah lawrence jesse
    joe bryan billy jordan albert dylan bruce willie gabriel alan juan logan wayne ralph roy eugene randy
    vincent russell louis philip bobby johnny bradley mary patricia jennifer linda elizabeth barbara susan
    jessica sarah karen lisa nancy betty sandra margaret ashley kimberly emily donna michelle carol amanda
    melissa deborah stephanie rebecca laura helen sharon cynthia kathleen amy angela shirley anna brenda pamela
    emma nicole samantha katherine christine debra rachel carolyn janet maria olivia heather diane catherine
    julie victoria joyce lauren kelly christina ruth joan virginia judith evelyn hannah andrea megan cheryl
    jacqueline madison teresa abigail sophia martha sara gloria janice kathryn ann isabella judy charlotte julia
    grace amber alice jean denise frances danielle marilyn natalie beverly diana brittany theresa kayla alexis
    doris lori tiffany bill bob jim tom mike dan dave jeff greg tim ben sam nick chris matt tony fred ted ed al
    ron don ken rick barack hillary bernie mitt rudy winston jane kate katie annie ellen rosa malcolm martin
    luther nelson fidel che simon oliver harry hermione sherlock oscar ernest jorge carlos luis miguel pablo
    diego pedro fernando antonio francisco manuel rafael javier sergio pierre jacques francois claude marie
    marcel hans fritz otto karl heinrich wolfgang johann friedrich ludwig max klaus jürgen giuseppe giovanni
    leonardo marco luca paolo vladimir ivan boris dmitri nikolai alexei mikhail igor sergei yuri leon lev anton
    fyodor mohammed muhammad ahmed ali hassan omar ibrahim yusuf fatima aisha mao deng xi li wei chen ming
    hiroshi kenji akira yuki satoshi raj amit sanjay priya indira mahatma jawaharlal noam isaac galileo ada
    rosalind linus guido elon sundar satya mia liam lucas mason aiden ella ava chloe zoe lily lucy leah naomi
    eve abraham moses sophie claire jeremiah elijah caleb joel seth derek craig phil dale glenn stuart graham
    neil ian colin nigel trevor geoffrey hugh clive gordon duncan angus fiona siobhan aoife brendan conor lotte
    anne anya olga tatiana svetlana ingrid astrid lars sven bjorn erik olaf nils josh alex jamie casey taylor
    morgan riley cameron drew blake reese dana leslie lee kim pat robin jo joey leo victor hugo felix julian
    marcus dominic damian stan stanley ernie bert walt warren wendy vera iris ivy hazel olive pearl ruby jade
    """
)
