"""Closed classes of English words, and verbs grouped by what may follow their object."""

from __future__ import annotations

from collections.abc import Iterator


def word_set(text: str) -> frozenset[str]:
    """The words of a text."""
    return frozenset(text.split())


def word_pairs(text: str) -> Iterator[tuple[str, str]]:
    """The words of a text, two at a time."""
    words = text.split()
    return zip(words[::2], words[1::2], strict=True)


DETERMINERS = word_set(
    """
    a an the this that these those my your our their its thy some any no each another such what which
    whatever either neither both enough
    """
)
PRONOUNS = word_set(
    """
    i me you he him she they them we us it who whom whose myself yourself himself herself itself ourselves
    themselves yourselves someone somebody something anyone anybody anything nobody nothing everyone
    everybody everything none thee thou ye hers mine yours theirs ours her his oneself
    """
)
PREPOSITIONS = word_set(
    """
    of in on at by with from for to into onto upon about without within toward towards until till since
    during among amongst between against through throughout across along amid beside besides beneath below
    above behind beyond despite except unto as than via per off up away out around over under after before
    """
)
CONJUNCTIONS = word_set(
    """
    and or but nor because if when while whilst although though unless lest whether where why how so yet
    whenever wherever whereas that
    """
)
AUXILIARIES = word_set(
    """
    is was are were am be been has had have does did do would could should can cannot must may shall ought
    dare isn't wasn't aren't weren't hasn't hadn't haven't doesn't didn't don't wouldn't couldn't
    shouldn't can't mustn't 's 'd 'll
    """
)
ADVERBS = word_set(
    """
    yes again ever never always often sometimes already perhaps not also too soon afterwards afterward
    today yesterday tomorrow tonight forever anyway instead otherwise however therefore thus there here
    everywhere anywhere somewhere nowhere together aside apart forth forward backward upstairs downstairs
    indoors outdoors abroad twice thrice thither hither hence quite rather almost nearly somehow meanwhile
    nevertheless maybe indeed ago altogether
    """
)
PREDICATES = word_set(
    """
    alone alive asleep awake afraid aware ashamed unaware unable able glad ready sure certain worse safe
    aboard ashore adrift aghast aloof speechless breathless
    """
)
"""Adjectives that follow what they describe and are rare before a noun."""
BEHIND_AN_OBJECT = DETERMINERS | PRONOUNS | PREPOSITIONS | CONJUNCTIONS | AUXILIARIES
"""Words that cannot begin a noun phrase after a possessive."""
NOMINAL_STARTS = (DETERMINERS | PRONOUNS) - {"that", "which", "what", "who", "whom", "whose", "her", "his"}

NUMERALS = word_set(
    """
    one two three four five six seven eight nine ten eleven twelve fifteen twenty thirty forty fifty sixty
    hundred thousand dozen many few several countless various numerous
    """
)
ORDINALS = word_set(
    """
    first second third fourth fifth sixth seventh last next final other own very same whole entire only
    """
)
TIMES = word_set(
    """
    day days week weeks month months year years time times morning evening night hour hours minute minutes
    summer winter spring autumn afternoon sunday monday tuesday wednesday thursday friday saturday moment
    january february march april june july august september october november december
    """
)
MEASURES = TIMES | word_set("mile miles yard yards foot feet step steps pace paces inch inches")

PERCEPTION_AND_CAUSE = word_set(
    """
    see hear watch feel notice make let help have bid observe perceive behold spy
    """
)
"""Verbs whose object can be followed by a bare infinitive: saw her duck."""
WITH_PARTICIPLE = PERCEPTION_AND_CAUSE | word_set(
    """
    keep leave find catch set start send picture imagine discover get want show remember like hate stop
    """
)
"""Verbs whose object can be followed by a participle: kept her waiting."""
WITH_COMPLEMENT = word_set(
    """
    cut make think find call consider believe keep leave render drive turn hold get deem judge wish want
    like hear set let see feel know suppose prove pronounce declare count fancy strike imagine send knock
    shoot beat eat have
    """
)
"""Verbs whose object can be followed by an adjective: thought her clever."""
NAMING = word_set(
    """
    call name make elect appoint crown christen consider think dub declare label proclaim term nickname
    deem style
    """
)
"""Verbs whose object can be followed by what it is or becomes: made her treasurer."""
GIVING = word_set(
    """
    give tell show send bring teach offer lend pay hand pass wish cost grant promise owe deny cause make
    cook get buy fetch pour do ask allow refuse feed serve award assign spare throw toss supply provide
    afford
    """
)
"""Verbs with two objects, the second of which may lack an article: gave her food."""
SOMETIMES_GIVING = word_set(
    """
    forgive read write sing play sell leave find win earn order save gain cut take reserve secure draw
    paint mean
    """
)
"""Verbs that sometimes have two objects."""
EVER_GIVING = GIVING | SOMETIMES_GIVING
LIKING = word_set("love like hate enjoy admire praise appreciate miss dislike adore criticise criticize")
COMPLEMENTED_OR_GIVING = WITH_COMPLEMENT | NAMING | GIVING | PERCEPTION_AND_CAUSE
SAYING = word_set(
    """
    tell ask assure inform remind warn persuade convince show promise say answer write teach advise
    """
)
"""Verbs that tell somebody what begins with the next word."""

MASS_NOUNS = word_set(
    """
    food water advice money tea coffee wine bread milk soup help news information work love comfort
    pleasure pain courage strength hope confidence permission access support trouble joy happiness fame
    respect praise peace time shelter credit medicine chocolate dinner breakfast supper lunch beer whisky
    brandy cake fruit meat rice sympathy consolation justice mercy satisfaction sorrow grief relief
    recognition notoriety power freedom protection rest
    """
)
KIN = word_set(
    """
    mother father sister brother husband wife son daughter uncle aunt nephew niece cousin friend friends
    parents child children lover grandmother grandfather sisters brothers sons daughters cousins mistress
    master servant servants neighbour neighbours neighbor companion companions guest guests visitor
    visitors employer employers colleague colleagues guardian guardians lawyer doctor teacher teachers
    pupils students audience readers boss manager
    """
)
"""Persons that somebody has: kin and company, to whom things are given."""
COUNTED_NOUNS = KIN | word_set(
    """
    family face hand hands head heart eyes eye arm arms lips hair voice foot feet shoulder shoulders mouth
    ear ears nose finger fingers knee knees neck cheek cheeks chin forehead throat body leg legs tongue
    thumb wrist waist lap brow name letter letters lecture life lives room house book story opinion word
    consent address age promise oath answer attention orders order mind soul thoughts thought speech report
    evidence testimony approval verdict secret secrets ticket bill debts rent wages salary purse key keys
    hat coat bag dress gloves handkerchief umbrella horse dog party lordship ladyship majesty highness reply
    reason fortune estate share debut blessing best assent resignation signature performance bidding job
    boat car bicycle garden shop office desk chair table bed window door pen watch ring glass cup plate
    knife sword cloak shawl cap bonnet veil pipe stick basket box trunk suitcase camera telephone passport
    diary notebook novel poem song portrait career
    """
)
"""Nouns that rarely go without an article or a possessive, above all kin and parts of the body."""
MADE_ONES = word_set(
    """
    way living mind appearance debut escape entrance exit bed choice decision point fortune peace home
    entry first last confession excuses apologies wishes intentions position meaning will farewells heart
    toilet toilette case preparations plans obeisance bow curtsey curtsy return acquaintance reputation
    career residence presence rounds adieux views feelings opinions
    """
)
"""Things that one makes for oneself: made her way."""
ACTIONS = word_set(
    """
    go be come do have get take keep know say tell find hear sit stand lie sleep die live speak think
    believe understand eat drink feel run walk talk laugh weep smile cry stay wait leave return enter read
    write sing dance play work rest suffer pass see look move turn fall rise climb carry become forget
    remember marry want
    """
)
"""Verbs that are rarely nouns after *let*."""
POSTURES = word_set(
    """
    standing sitting lying kneeling walking coming going running leaning staring waiting looking talking
    speaking crying weeping sobbing laughing smiling sleeping working crossing approaching moving climbing
    watching trying
    """
)
MOTIONS = word_set(
    """
    bring take send call pull draw get want win hold keep carry lead push drive fetch follow drag lure
    beckon escort walk accompany invite welcome order throw put force ride ask tempt have summon haul bear
    lift
    """
)
"""Verbs that move their object: brought her back."""
LOCATIVES = word_set(
    """
    before behind beside above below around near after between opposite round about with beneath under
    over
    """
)
"""Prepositions after which the verb may come before the subject: behind her stood."""
HONOURS = word_set(
    """
    majesty ladyship lordship highness grace excellency honour honor holiness worship royal imperial
    """
)
FAREWELLS = word_set("farewell goodbye adieu welcome")
COMPOUND_ADVERBS = word_set(
    """
    half-way by-and by-the shoulder-high to-day to-night to-morrow good-bye good-night up-stairs
    down-stairs head-on face-to-face
    """
)
SHINING = word_set(
    """
    trembling smiling gleaming shining glowing quivering laughing sparkling blazing glittering burning
    aching bleeding dying ageing aging glistening flowing streaming
    """
)
"""Participles of intransitive verbs, which describe a noun that follows them."""
