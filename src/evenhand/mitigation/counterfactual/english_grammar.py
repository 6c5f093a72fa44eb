"""Closed classes of English words, and verbs by what may follow their object."""

from __future__ import annotations


def _words(*texts: str) -> frozenset[str]:
    return frozenset(" ".join(texts).split())


DETERMINERS = _words(
    "a an the this that these those my your our their its thy some any no each another such what which whatever either "
    "neither both enough"
)
PRONOUNS = _words(
    "i me you he him she they them we us it who whom whose myself yourself himself herself itself ourselves themselves "
    "yourselves someone somebody something anyone anybody anything nobody nothing everyone everybody everything none "
    "thee thou ye hers mine yours theirs ours her his oneself"
)
PREPOSITIONS = _words(
    "of in on at by with from for to into onto upon about without within toward towards until till since during among "
    "amongst between against through throughout across along amid beside besides beneath below above behind beyond "
    "despite except unto as than via per off up away out around over under after before"
)
CONJUNCTIONS = _words(
    "and or but nor because if when while whilst although though unless lest whether where why how so yet whenever "
    "wherever whereas that"
)
AUXILIARIES = _words(
    "is was are were am be been has had have does did do would could should can cannot must may shall ought dare "
    "isn't wasn't aren't weren't hasn't hadn't haven't doesn't didn't don't wouldn't couldn't shouldn't can't mustn't 's 'd 'll"
)
ADVERBS = _words(
    "again ever never always often sometimes already perhaps not also too soon afterwards afterward today yesterday "
    "tomorrow tonight forever anyway instead otherwise however therefore thus there here everywhere anywhere somewhere "
    "nowhere together aside apart forth forward backward upstairs downstairs indoors outdoors abroad twice thrice "
    "thither hither hence quite rather almost nearly somehow meanwhile nevertheless maybe indeed ago altogether"
)
PREDICATES = _words(
    "alone alive asleep awake afraid aware ashamed unaware unable able glad ready sure certain worse safe aboard "
    "ashore adrift aghast aloof speechless breathless"
)
"""Adjectives that stand behind what they describe; before a noun they are rare."""
BEHIND_AN_OBJECT = DETERMINERS | PRONOUNS | PREPOSITIONS | CONJUNCTIONS | AUXILIARIES
"""Words that begin no noun phrase to which a possessive belongs."""
NOMINAL_STARTS = (DETERMINERS | PRONOUNS) - {"that", "which", "what", "who", "whom", "whose", "her", "his"}

NUMERALS = _words(
    "one two three four five six seven eight nine ten eleven twelve fifteen twenty thirty forty fifty sixty hundred "
    "thousand dozen many few several countless various numerous"
)
ORDINALS = _words(
    "first second third fourth fifth sixth seventh last next final other own very same whole entire only"
)
TIMES = _words(
    "day days week weeks month months year years time times morning evening night hour hours minute minutes summer "
    "winter spring autumn afternoon sunday monday tuesday wednesday thursday friday saturday moment january february "
    "march april june july august september october november december"
)

PERCEPTION_AND_CAUSE = _words("see hear watch feel notice make let help have bid observe perceive behold spy")
"""Verbs whose object can be followed by a bare infinitive: saw her duck."""
WITH_PARTICIPLE = PERCEPTION_AND_CAUSE | _words(
    "keep leave find catch set start send picture imagine discover get want show remember like hate stop"
)
"""Verbs whose object can be followed by a participle: kept her waiting."""
WITH_COMPLEMENT = _words(
    "make think find call consider believe keep leave render drive turn hold get deem judge wish want like hear set let "
    "see feel know suppose prove pronounce declare count fancy strike imagine send knock shoot beat eat have"
)
"""Verbs whose object can be followed by an adjective: thought her clever."""
NAMING = _words(
    "call name make elect appoint crown christen consider think dub declare label proclaim term nickname deem style"
)
"""Verbs whose object can be followed by what it is or becomes: made her treasurer."""
GIVING = _words(
    "give tell show send bring teach offer lend pay hand pass wish cost grant promise owe deny cause make cook get buy "
    "fetch pour do ask allow refuse feed serve award assign forgive spare throw toss supply provide afford"
)
"""Verbs with two objects, the second of which may lack an article: gave her food."""
SOMETIMES_GIVING = _words(
    "read write sing play sell leave find win earn order save gain cut take reserve secure draw paint mean"
)
"""Verbs with two objects now and then."""
SAYING = _words(
    "tell ask assure inform remind warn persuade convince show promise say answer write teach advise"
)
"""Verbs that tell somebody what begins with the next word."""

MASS_NOUNS = _words(
    "food water advice money tea coffee wine bread milk soup help news information work love comfort pleasure pain courage "
    "strength hope confidence permission access support trouble joy happiness fame respect praise peace time shelter "
    "credit medicine chocolate dinner breakfast supper lunch beer whisky brandy cake fruit meat rice sympathy consolation "
    "justice mercy satisfaction sorrow grief relief recognition notoriety power freedom protection rest room"
)
COUNTED_NOUNS = _words(
    "mother father sister brother husband wife son daughter uncle aunt nephew niece cousin friend friends parents child "
    "children family lover grandmother grandfather sisters brothers sons daughters cousins mistress master servant "
    "servants neighbour neighbours neighbor companion companions guest guests visitor visitors employer employers "
    "colleague colleagues guardian guardians lawyer doctor teacher teachers pupils students audience readers boss manager "
    "face hand hands head heart eyes eye arm arms lips hair voice foot feet shoulder shoulders mouth ear ears nose finger "
    "fingers knee knees neck cheek cheeks chin forehead throat body leg legs tongue thumb wrist waist lap brow "
    "name letter letters lecture life lives room house book story opinion word consent address age promise oath answer "
    "attention orders order mind soul thoughts thought speech report evidence testimony approval verdict secret secrets "
    "ticket bill debts rent wages salary purse key keys hat coat bag dress gloves handkerchief umbrella horse dog party "
    "lordship ladyship majesty highness reply reasons reason fortune estate share debut blessing "
    "best assent resignation signature performance"
)
"""Nouns that seldom stand without an article or a possessive; kin and the body above all."""
MADE_ONES = _words(
    "way living mind appearance debut escape entrance exit bed choice decision point fortune peace home entry "
    "first last confession excuses apologies wishes intentions position meaning will farewells heart toilet toilette "
    "case preparations plans obeisance bow curtsey curtsy return acquaintance reputation career residence "
    "presence rounds adieux views feelings opinions"
)
"""What one makes of one's own: made her way."""
ACTIONS = _words(
    "go be come do have get take keep know say tell find hear sit stand lie sleep die live speak think believe understand "
    "eat drink feel run walk talk laugh weep smile cry stay wait leave return enter read write sing dance play work rest "
    "suffer pass see look move turn fall rise climb carry become forget remember marry want"
)
"""Verbs that are seldom nouns behind *let*."""
POSTURES = _words(
    "standing sitting lying kneeling walking coming going running leaning staring waiting looking talking speaking "
    "crying weeping sobbing laughing smiling sleeping working crossing approaching moving climbing watching trying"
)
MOTIONS = _words(
    "bring take send call pull draw get want win hold keep carry lead push drive fetch follow drag lure beckon escort "
    "walk accompany invite welcome order throw put force ride ask tempt have summon haul bear lift"
)
"""Verbs that move their object: brought her back."""
LOCATIVES = _words(
    "before behind beside above below around near after between opposite round about with beneath under over"
)
"""Prepositions that begin a sentence whose verb follows at once: behind her stood."""
HONOURS = _words(
    "majesty ladyship lordship highness grace excellency honour honor holiness worship royal imperial"
)
COMPOUND_ADVERBS = _words(
    "to-day to-night to-morrow good-bye good-night up-stairs down-stairs head-on face-to-face"
)
