"""English words that tell a person's gender, apart from pronouns and names, with their counterparts."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cache
from types import MappingProxyType

from evenhand.data.probes import definitional_pairs
from evenhand.twins.en.grammar import word_pairs, word_set

_PAIRS = """
boyfriends girlfriends  bridegrooms brides  widowers widows  grandpas grandmas  stepfathers stepmothers
godfathers godmothers  schoolboys schoolgirls  princes princesses  dukes duchesses  monks nuns  sirs madams
stepson stepdaughter  stepsons stepdaughters  stepbrother stepsister  stepbrothers stepsisters  godson goddaughter
godsons goddaughters  grandnephew grandniece  papa mama  papa mamma  daddy mummy  daddy mommy  daddies mummies
grandad granny  granddad granny  granddads grannies  pa ma  lad lass  lads lasses  laddie lassie
actor actress  actors actresses  waiter waitress  waiters waitresses  hero heroine  heroes heroines  heir heiress
heirs heiresses  emperor empress  emperors empresses  baron baroness  barons baronesses  marquis marchioness
viscount viscountess  viscounts viscountesses  czar czarina  tsar tsarina  sultan sultana  wizard witch  wizards witches
abbot abbess  landlord landlady  landlords landladies  headmaster headmistress  headmasters headmistresses
schoolmaster schoolmistress  schoolmasters schoolmistresses  cowboy cowgirl  cowboys cowgirls  fiancé fiancée
househusband housewife  househusbands housewives
boyhood girlhood  manhood womanhood  boyish girlish  manly womanly  unmanly unwomanly  fatherly motherly
fatherless motherless  brotherly sisterly  brotherhood sisterhood  kingly queenly  masculine feminine
masculinity femininity  paternal maternal  paternally maternally  lordship ladyship  lordships ladyships
menfolk womenfolk  monsieur madame  signor signora  herr frau
"""

_COMPOUNDS_OF_MAN = """
alder anchor assembly business chair church clergy congress council country counter crafts english french
frontiers horse irish kins lay noble police scots sales spokes sports states swords welsh dutch cornish
"""

_FROM_FEMALE_ONLY = """
hostess host  hostesses hosts  authoress author  poetess poet  stewardess steward  stewardesses stewards
manageress manager  murderess murderer  priestess priest  priestesses priests  goddess god  goddesses gods
shepherdess shepherd  sculptress sculptor  huntress hunter  sorceress sorcerer  prophetess prophet
patroness patron  benefactress benefactor  enchantress enchanter  comedienne comedian  conductress conductor
instructress instructor  ambassadress ambassador  proprietress proprietor  countess count  countesses counts
auntie uncle  aunty uncle  ma'am sir  policewomen policemen
"""

_WITHOUT_CLEAR_TWIN = """
maid maids maiden maidens maidservant manservant housemaid housemaids chambermaid barmaid milkmaid milkmaids
dairymaid dairymaids parlourmaid nurserymaid barmaids bridesmaid bridesmaids handmaid nursemaid governess
governesses seamstress seamstresses laundress spinster spinsters bachelor bachelors dowager ballerina damsel
damsels dame dames matron matrons nursemaids wench wenches whore whores harlot harlots slut harem concubine
mistress mistresses diva tomboy tomboys fellow fellows chap chaps bloke blokes dude dudes fella fellas squire
squires beau suitor suitors playboy swain earl earls knight knights master masters groom grooms eunuch
patriarch patriarchs matriarch matriarchs brethren sire fireman firemen fisherman fishermen footman footmen
coachman coachmen postman postmen milkman workman workmen foreman foremen seaman seamen gunman gunmen hangman
henchman henchmen watchman watchmen boatman boatmen ferryman huntsman huntsmen yeoman yeomen bushman woodsman
woodman tradesman tradesmen repairman doorman doormen cabman cabmen bondsman freshman freshmen marksman
marksmen rifleman riflemen infantryman infantrymen cavalryman cavalrymen airman airmen helmsman oarsman
midshipman midshipmen serviceman ombudsman handyman strongman stuntman showman madman madmen madwoman
washerwoman charwoman needlewoman womanizer womanhater caveman cavemen snowman bogeyman hitman gentlewoman
womankind manslayer batman superman guardsman guardsmen militiaman militiamen lawman lawmen minuteman
weatherman cameraman cameramen middleman middlemen herdsman herdsmen ploughman plowman draughtsman
craftsmanship sportsmanship statesmanship workmanship showmanship effeminate tsarevich cuckold misogynist
mesdames sultanship sieu messieurs messrs mademoiselle señor señora señorita senor senora fräulein signorina
memsahib sahib begum rani rajah raja maharajah maharani ranee shah sheikh pharaoh
"""

_FITS_ONE_GENDER = """
pregnant pregnancy pregnancies childbirth miscarriage menopause womb uterus beard beards bearded moustache
moustaches mustache mustaches whiskers whiskered unshaven shaven breasts lactating prostate testicles penis
vagina gynaecologist gynecologist obstetrician lesbian lesbians polygamy petticoat petticoats fathered fathering
mothered mothering breastfed breastfeed breastfeeds breastfeeding suckled
"""

_ANIMALS = """
mare mares stallion stallions gelding filly colt colts hen hens rooster cow cows bull bulls ewe ewes lioness
tigress vixen bitch
"""

KEPT_PHRASES = (
    "man - made", "man - eating", "man - eater", "man - eaters", "man - hour", "man - hours", "man - sized",
    "mother - of - pearl", "mother of pearl", "king - size", "king - sized", "queen - size", "queen - sized",
    "you guys", "master 's degree", "master 's degrees", "bachelor 's degree", "bachelor 's degrees",
    "master key", "master of arts", "master of science", "bachelor of arts", "bachelor of science",
    "master plan", "master bedroom", "boxing day", "mother tongue", "mother tongues", "grandfather clock",
    "grandfather clocks",
    *(f"sister {thing}" for thing in ("company", "companies", "city", "cities", "paper", "firm", "school", "party")),
    *(f"{kin} {thing}" for kin in ("mother", "daughter") for thing in ("company", "cell", "cells", "language", "firm")),
)  # fmt: skip
"""Phrases in which a gendered word says nothing about anybody's gender."""

UNCLEAR_PHRASES = (
    "man overboard", "no man 's land", "no - man 's - land", "best man", "man and wife", "man to man",
    "to a man", "oh man", "oh boy", "founding fathers", "forefathers", "son of a", "sons of", "man of war",
    "men of war", "men - of - war", "first lady", "first ladies", "old wives", "ladies ' man", "ladies man",
    "queen bee", "mother country", "mother nature", "mother earth", "mother ship", "father christmas",
    "holy father", "our father", "our lady", "city fathers", "pilgrim fathers", "the son of man",
    "son of god", "mother of god", "man of letters", "lady 's man", "gentleman 's agreement",
    "gentlemen 's agreement", "boy scout", "boy scouts", "girl guide", "girl guides", "boy band",
    "girl group", "bride price", "lord mayor", "lord chancellor", "lord chief", "lord god", "lord jesus",
    "lord high", "lord justice", "lord lieutenant", "lord president", "lord byron", "lord 's prayer",
    "man about town", "madam chair", "madam president", "madam speaker", "mr president", "mr speaker",
    "mr chairman", "mr justice", "mother superior", "reverend mother", "gave birth", "give birth",
    "giving birth", "given birth", "king james bible", "jack of all", "oh brother", "big brother",
    "man in the moon", "white man 's", "man 's best friend", "every man for", "boys will be boys",
    "girls will be girls", "men are created", "early man", "modern man", "primitive man", "prehistoric man",
    "common man", "man in the street", "brothers in arms", "sisters in arms", "old boy", "old boys", "uncle sam",
    "lady luck", "father time", "man of the match", "men at work", "men of god", "man of god", "man of the world",
    "king arthur", "robin hood", "peter pan", "lady macbeth", "lady godiva", "lady gaga", "lady chatterley",
    "mary poppins", "harry potter", "sherlock holmes", "james bond", "big ben", "tom thumb", "virgin mary",
    "queen elizabeth", "king george", "king edward", "king david", "king solomon", "king lear", "queen victoria",
    "queen anne", "prince charming",
    "old boys ' network", "boys in blue", "maiden voyage", "brother in arms",
)  # fmt: skip
"""Phrases whose twin is not clear, or that are generic."""


@cache
def noun_pairs() -> tuple[Mapping[str, str], Mapping[str, str]]:
    """Male words with their female counterparts, and female words with their male ones; all in lower case."""
    defined = definitional_pairs("en")
    listed = [
        (male.lower(), female.lower())
        for male, female in zip(defined.male, defined.female, strict=True)
        if male not in ("he", "himself", "Mr")
    ]
    pairs = [*listed, *word_pairs(_PAIRS), *_compounds_of_man()]
    to_female: dict[str, str] = {}
    to_male: dict[str, str] = {}
    for male, female in pairs:
        to_female.setdefault(male, female)
        to_male.setdefault(female, male)
    for female, male in word_pairs(_FROM_FEMALE_ONLY):
        to_male.setdefault(female, male)
    return MappingProxyType(to_female), MappingProxyType(to_male)


def _compounds_of_man() -> Iterable[tuple[str, str]]:
    for stem in _COMPOUNDS_OF_MAN.split():
        yield f"{stem}man", f"{stem}woman"
        yield f"{stem}men", f"{stem}women"


WITHOUT_CLEAR_TWIN = word_set(_WITHOUT_CLEAR_TWIN)
FITS_ONE_GENDER = word_set(_FITS_ONE_GENDER)
ANIMALS = word_set(_ANIMALS)
NO_PERSONS = word_set(
    """
    human superhuman subhuman inhuman nonhuman german roman norman ottoman talisman shaman caiman specimen
    omen abdomen regimen acumen stamen hymen semen amen bitumen lumen ramen yemen cyclamen women woman men
    man mankind
    """
)
"""Words that end like *postman* but are not compounds of *man*."""
RULERS_OF_GAMES = word_set("king kings queen queens")
GAMES = word_set(
    """
    chess chessboard rook rooks pawn pawns bishop checkmate castling hearts spades trump trumps hive hives
    beehive bee bees beekeeper beekeepers swarm draughts board square squares eggs comb drone
    """
)
"""Words beside which *queen* may be a piece, a card or a bee."""
DEITIES = word_set("god christ jesus allah providence almighty saviour creator")
SHIPS = word_set(
    """
    anchored anchor mortars shells aground plating draught displacement knot berth ship ships vessel
    cruiser battleship battlecruiser destroyer frigate schooner yacht steamer submarine brig sloop barque
    galleon tanker ferry trawler liner hull hms uss sms keel shipyard flagship boat gunboat warship
    ironclad dreadnought rudder mast masts crew flotilla squadron knots tons broadside moored sails sail
    torpedo torpedoes locomotive aircraft carrier drydock refit decks armament coal boilers turbines
    funnels nautical voyage fleet navy torpedoed waters gun guns sank sunk
    """
)
"""Words beside which *she* may be a ship."""
PERSONIFIED = word_set(
    """
    england britain france germany russia italy spain india america ireland scotland japan china austria
    prussia rome egypt israel turkey poland venice europe moon nation country church earth institution
    navy empire
    """
)
"""Things that *her* may refer to, though they are not persons."""
