"""English abbreviations and words that decide whether a period ends a sentence."""


def _words(*texts: str) -> frozenset[str]:
    return frozenset(word for text in texts for word in text.split())


# the period never ends a sentence
BEFORE_NAMES = _words(
    "Mr Mrs Ms Messrs Mme Mmes Mlle Dr Drs Prof Rev Revd Fr Hon Msgr Mgr Pres Gov Sen Sens Rep Reps Amb Atty Gen Maj",
    "Col Lt Capt Cmdr Comdr Cdr Adm Sgt Cpl Pvt Pfc Insp Supt Det Ofc Mt Mts Ft Pt Ste Sta Asst Assoc Acct Exec Dir",
    "Chmn Treas Dep Lieut Brig Sra Srta Ph Wm Geo Chas Thos Jas Rte Attn attn Ing Mag Dipl",
)
BEFORE_EXAMPLES = _words("e.g i.e eg cf viz vs v n.b N.B approx ca cca")
# not the end of a sentence before a number, a letter or a word in lower case
BEFORE_NUMBERS = _words(
    "Fig Figs Eq Eqs Eqn Eqns Ref Refs Sec Secs Sect Sects Vol Vols No Nos Ch Chs Chap Chaps Thm Lem Prop Def Tab Ex",
    "Ver Par Para Paras Art Op Cl Pg Apt Bldg Flr Ext Rs Suppl App Ser Ep Reg Cat Tel Fax Encl Supp fig figs eq eqs",
    "eqn eqns ref refs sect sects vol vols no nos chap chaps p pp para paras cl pg incl excl max avg est",
)
# the end of a sentence only if a word follows that often starts one
POSSIBLE_ENDS = _words(
    "Inc Corp Co Cos Ltd Bros Jr Sr Esq Assn Dept Depts Univ Inst Natl Intl Govt Mfg Pty Plc Bd Comm Cmte Ctr St Sts",
    "Ave Av Rd Blvd Ln Hwy Pkwy Sq Ter Pl Ct Jan Feb Mar Apr Jun Jul Aug Sep Sept Oct Nov Dec Mon Tue Tues Wed Weds",
    "Thu Thur Thurs Fri Ala Ariz Ark Calif Cal Colo Conn Del Fla Ga Ia Ill Ind Kan Kans Ky La Mass Md Mich Minn Miss",
    "Mo Mont Neb Nebr Nev Okla Ore Pa Penn Tenn Tex Va Vt Wash Wis Wisc Wyo Ont Que Alta jan feb apr aug sept oct nov",
    "dec Proc Acad Sci Biol Chem Phys Med Lett Trans Am Engl Exp Virol Educ Soc Res Civ Crim Cir Pub tbsp tbsps tbs",
    "tsp tsps oz lb lbs ft yd yds mi qt qts pt pts gals doz pkg pkgs sq cu deg wt etc al jr sr dept depts govt abbr",
    "diff temp misc orig ext div cont ibid seq spp ssp subsp chr ed eds repr bros inc corp ltd ave blvd bldg assn",
    "intl natl",
)
ABBREVIATIONS = BEFORE_NAMES | BEFORE_EXAMPLES | BEFORE_NUMBERS | POSSIBLE_ENDS
CAPITAL_ABBREVIATIONS = _words("INC CORP LTD CO BROS ESQ JR SR ST AVE VS NO NOS VOL FIG")
# other words without vowels are taken for abbreviations
NOT_ABBREVIATED = _words("km cm mm nm kg mg ml hm hmm hmmm mmm shh psst pfft nth tv tvs pc pcs cd cds mhm wt")
# not the end of a sentence before a number or a word in lower case
TIME_UNITS = _words("hr hrs mins secs wk wks yr yrs mos")
UNITS_AFTER_NUMBERS = _words("in min sec gal mo")  # elsewhere they are words
# words that often start a sentence and rarely follow an abbreviation inside one
SENTENCE_STARTERS = _words(
    "The A An This That These Those He She It We They You I His Her Its Our Their My Your There Here And But Or So",
    "Yet If When While Although Though Because Since As After Before Until Once Whether Unless Whereas In On At By",
    "For From With Without To During Despite Unlike According Given Like Among Between Through However Moreover",
    "Furthermore Therefore Thus Hence Then Now Also Still Meanwhile Instead Indeed Nevertheless Nonetheless Otherwise",
    "Finally Later Earlier Today Yesterday Tomorrow Perhaps Maybe Recently Currently Originally Additionally",
    "Similarly Likewise Consequently Accordingly Overall Especially Sometimes Often Usually Soon Again Even More Of",
    "Over Under Actually What Who Whom Whose Which Where Why How Is Are Was Were Do Does Did Has Have Had Can Could",
    "Would Should Might Must Two Three Four Five Six Seven Eight Nine Ten Within Having Further Using Subsequently",
    "Based Following Together Taken Recent Previous Previously Interestingly Surprisingly Importantly Unfortunately",
    "Fortunately Apparently Obviously Let Please Yes Not Never No Nobody Nothing Neither Either Both All Some Many",
    "Most Much Few Several Each Every Any Another Others Such One Only Just Nor Everyone Everything Everybody Someone",
    "Something Somebody Anyone",
)
# after "a.m." and "p.m.", these words belong to the time
TIME_WORDS = _words(
    "Monday Tuesday Wednesday Thursday Friday Saturday Sunday Mondays Tuesdays Wednesdays Thursdays Fridays Saturdays",
    "Sundays January February March April May June July August September October November December Eastern Central",
    "Mountain Pacific Atlantic Greenwich Moscow Beijing Tokyo London Paris Daylight Standard Mon Tue Tues Wed Thu",
    "Thur Thurs Fri Sat Sun Jan Feb Mar Apr Jun Jul Aug Sep Sept Oct Nov Dec",
)
# names of brands that end with an exclamation mark
EXCLAMATION_NAMES = _words("Yahoo Jeopardy Yum Joomla Oklahoma Hello")
# endings of addresses and file names, and names in code, after a period without a space
ADDRESS_ENDINGS = _words("Com Org Net Edu Gov Io Info Biz Co Uk Us De Js Py Txt Pdf Html Exe Xml Json Doc Docx Md")
