"""English first names and their counterparts, and where a name is not a first name."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from types import MappingProxyType

from evenhand.core.probes import TermPairs
from evenhand.data.probe_files import read_terms
from evenhand.data.probes import bundled_probe_path
from evenhand.text.swappers import Rejected, Role
from evenhand.twins.en import grammar
from evenhand.twins.en.grammar import word_pairs, word_set
from evenhand.twins.en.tokens import Tokens, WordOutcome, is_name_like, stands_in_compound, swap
from evenhand.twins.en.word_classes import WordClass, classes_of

_FURTHER_PAIRS = """
John Jane  Henry Alice  Peter Ruth  Paul Pauline  Arthur Edith  Frederick Frances  Harry Harriet
Walter Martha  Albert Agnes  Philip Eleanor  Francis Charlotte  Hugh Emma  Ralph Sophia  Stephen Julia
Simon Caroline  Martin Christine  Patrick Bridget  Oliver Olivia  Adam Eve  Lawrence Louisa  Leonard Dorothy
Louis Louise  Eric Erica  Ernest Esther  Herbert Hannah  Harold Hilda  Alfred Ethel  Raymond Ruby
Roger Rosemary  Gerald Geraldine  Douglas Diana  Donald Donna  Carl Carol  Christopher Christina
Timothy Tabitha  Jeremy Janet  Dennis Denise  Duncan Fiona  Edwin Edna  Edmund Matilda  Geoffrey Gwendolen
Gilbert Gertrude  Graham Gillian  Ian Isobel  Isaac Isabella  Jacob Judith  Jeremiah Jemima  Julian Juliet
Keith Katherine  Karl Karen  Luke Lucy  Malcolm Marjorie  Maurice Maud  Nathan Nancy  Neil Nora
Nigel Nicola  Oscar Olive  Owen Olga  Percy Penelope  Reginald Rosalind  Rupert Rosamund  Sidney Sylvia
Stuart Sheila  Theodore Theresa  Vincent Vera  Wilfred Winifred  Tom Kate  Bob Betty  Jim Jenny  Joe Josie
Jack Jill  Ned Nell  Dick Dolly  Sam Sally  Ben Bess  Dan Daisy  Fred Flora  Bertie Bertha  Charlie Clara
Billy Milly  Tommy Tilly  Johnny Annie  Jimmy Minnie  Bobby Polly  Teddy Kitty  Eddie Ellie  Archie Amelia
Alan Alison  Andy Annabel  Tim Tina  Mike Molly  Steve Stella  Dave Debbie  Greg Greta  Jeff Joanna
Larry Lydia  Barry Beatrice  Brad Brenda  Bruce Belinda  Craig Cecilia  Derek Doris  Gary Gloria
Glenn Glenda  Howard Heather  Justin Justine  Kyle Kelly  Phillip Phyllis  Scott Sharon  Sean Sinead
Todd Theodora  Tony Teresa  Trevor Tracy  Wayne Wendy  Zachary Zoe  Aaron Abigail  Abraham Adelaide
Aidan Adele  Alexandre Alexandra  Antonio Antonia  Augustus Augusta  Bernard Bernadette  Bartholomew Barbra
Carlos Carla  Cecil Cecily  Clement Clementine  Cyril Cora  Dominic Daphne  Ebenezer Eliza  Eugene Eugenia
Ferdinand Felicia  Gabriel Gabrielle  Giovanni Giovanna  Godfrey Gladys  Gustav Gretel  Hans Heidi
Horace Hester  Humphrey Hermione  Ivan Irina  Jerome Jacqueline  José Josefina  Josiah Josephine  Juan Juana
Klaus Klara  Lionel Lavinia  Luigi Lucia  Mario Maria  Marcus Marcia  Miguel Marisol  Ahmed Aisha
Nathaniel Natalie  Otto Ottilie  Pierre Marie  Rodney Ramona  Roland Rowena  Rudolf Rita  Sebastian Selina
Silas Susanna  Sergei Svetlana  Terence Thelma  Tobias Tamara  Vladimir Veronika  Wilhelm Wilhelmina
Giles Georgiana  Rufus Rhoda  Everard Evelina  Basil Blanche  Crispin Constance  Leopold Leonora  Leo Leah
Ambrose Amabel  Cuthbert Cordelia  Angus Ailsa  Hector Helena  Hubert Henrietta  Jonas Joan  Joel Joyce
Roy Rosie  Ryan Rosanna  Tyler Tabatha  Ethan Ella  Noah Naomi  Liam Lily  Mason Maisie  Logan Lola
Dylan Delia  Colin Mabel  Bertram Monica  Andre Andrea  Angelo Angelina  Armand Anita  Barnaby Becky
Benedict Bella  Boris Beth  Caleb Camilla  Casper Carolyn  Clarence Catharine  Claude Claudia
Clifford Cathy  Clive Claire  Conrad Connie  Cornelius Colette  Damian Dora  Desmond Deirdre  Dmitri Natasha
Edgar Eunice  Elias Elsie  Emil Elena  Ezra Estelle  Felix Phoebe  Fergus Freda  Franz Fanny
Friedrich Frieda  Fritz Elaine  Gareth Gwen  Gavin Gemma  Hamish Irene  Heinrich Ursula  Herman Ingrid
Hugo Ida  Igor Inez  Ignatius Isabel  Jerry Genevieve  Johann Johanna  Johannes Juliana  Josef Juliette
Jules Justina  Julius Katie  Kurt Lilian  Lancelot Lena  Lars Lillian  Lucas Lois  Ludwig Madeleine
Mathew Marian  Maximilian Mildred  Mickey Miriam  Mustafa Nina  Nikolai Octavia  Oswald Paloma  Pablo Petra
Pedro Philippa  Perceval Pamela  Quentin Rosalie  Reuben Rosa  Roderick Ronda  Rodrigo Sieglinde
Ronnie Shirley  Siegfried Susannah  Stanley Thea  Sven Tatiana  Thaddeus Tess  Theo Vanessa  Tristan Winnie
Victor Winona  Wilbur Yvonne  Winston Sophie  Xavier Lottie  Dickon Marianne  Alistair Alicia  Evan Evie
Ewan Ellen  Gus Georgina  Marco Marina  Anton Anne  Arnold Ann  Ivor Eva  Luther Lorna  Magnus Maggie
Max Maxine  Marvin Marilyn  Matt Megan  Nick Nadia  Rick Rosetta  Ron Sara  Ken Katharine  Phil Priscilla
Pete Peggy  Ray Renata  Rob Samantha  Stan Sonia  Ted Trudy  Toby Tilda  Vic Veronica  Walt Valerie
Wally Viola  Josh Janice  Jake Joanne  Hal Hattie  Ernie Enid  Bert Bettina  Lambert Lizzie  Lorenzo Livia
Morris Miranda  Monty Muriel  Piers Paula  Rowland Rachael  Sylvester Sabina  Mark Grace  Frank Joy  Bill Rose
Will Hope  Drew Dawn  Grant Faith  Wade Melody  Guy Holly  Cliff Ivy  Miles Violet
Lance Poppy  Clay Hazel  Chuck Penny  Gene Pearl
"""

_UNPAIRED = """
May June April
Madonna Abel Adrienne Agatha Alma Anastasia Angelica Aphrodite Apollo Ariadne Astrid Athena Audrey Aurora Bonnie
Buddha Cain Candice Carmen Cassandra Charlene Chester Chloe Cleopatra Cyrus Danielle Darius Della
Desiree Dinah Dolores Dorothea Edwina Eileen Elijah Eloise Elsa Elvira Emmeline Enoch Erin Evangeline Fay
Felicity Florence Germaine Gina Giulia Gordon Harvey Hazel Hera Hortense Immanuel Imogen Isadora Isolde Ivana
Izz Jacinta Jasmine Jasper Jeanne Jeannette Jesus Judas Kathryn Katrina Keira Kristen Kristin Lara Lewis
Lincoln Mohammed Adolf Norman Annette Antoinette Linnet Liza Lloyd Loretta Lorraine Lucille Lucinda Mabelle
Madeline Madge Magdalena Mahomet Malvina Margarita Margery Margot Marguerite Mariana Marjory Marlene Maureen
Mavis Maxwell Meg Melanie Melinda Melvin Mercedes Mercy Mia Miles Millicent Milton Mimi Moira Mona Moses
Muhammad Murray Myra Nadine Napoleon Natalia Nellie Neville Noreen Odette Ophelia Orlando Pansy Patience Patsy
Pearl Philomena Prudence Randolph Regina Rena Retty Rex Rose Ross Roxana Russell Sabrina Sadie Salome Salvador
Satan Saul Seth Seymour Sherlock Simone Solomon Sonya Sophy Spencer Sue Susie Suzanne Ulysses Una Uriah Venus
Vernon Victoria Violet Virgil Virginia Wallace Warren Wesley Will Willy Yolanda Yvette Zelda Zeus
"""

PLACES_AFTER = word_set(
    """
    israel street road avenue river lane bay county college university hospital square island islands park
    station hall house court church cathedral chapel bridge school palace theatre theater museum prize
    award medal lake peak falls point town city creek airport press institute cross place terrace gate
    springs valley hills beach harbour harbor mountains mountain sound strait range grove gardens garden
    inn arms festival trophy cup club band library society company line railway hotel
    """
)
"""Words that turn the name before them into the name of a place or a thing."""
SAINTS_AND_PLACES_BEFORE = word_set(
    """
    st saint san santa fort port mount lake cape hms uss sms rms prince's lord's new
    """
)
"""Words that do the same with the name after them."""

ALSO_PLACES = word_set(
    """
    charlotte adelaide augusta helena florence victoria virginia lucia douglas howard nelson
    """
)
"""Names that are places after a preposition: in Charlotte."""

ALSO_SURNAMES = word_set(
    """
    scott kelly mason logan tyler graham howard douglas stuart stanley clifford lawrence gilbert craig
    bruce wayne owen glenn martin grant wade miles
    """
)
"""First names that are as often surnames; they count as first names only before a surname."""
ALSO_COUNTED_WORDS = word_set(
    """
    mark bill will frank rob nick jack dick jerry max ray drew guy cliff lance chuck grant miles
    """
)
"""Names that are also common words which need an article, or begin an order: the name is what a verb follows."""
ALSO_WORDS = ALSO_COUNTED_WORDS | word_set(
    """
    olive ruby rosemary daisy lily heather eve carol dolly basil clement grace hope joy faith dawn rose
    pearl violet hazel holly ivy poppy melody clay penny patience prudence mercy felicity gene
    """
)
"""Names that are also common words, which may be capitalised for their position."""
_VERBS_LIKE_NAMES = word_set("will mark bill rob nick chuck grant drew")
_TENSED = word_set("was is had has did does wasn't isn't hadn't hasn't didn't doesn't")
_MONTHS = word_set("may june april")
_BEFORE_MONTHS = (
    grammar.PREPOSITIONS | grammar.DETERMINERS | word_set("and or last next early late mid every one")
)
SURNAME_TITLES = word_set(
    """
    mr mrs ms dr doctor professor prof judge captain colonel major general senator president inspector
    detective sergeant lieutenant constable sheriff governor mayor admiral commander corporal
    chancellor ambassador
    """
)
_FIRST_NAME_TITLES = word_set(
    """
    miss lady lord king queen prince princess uncle aunt auntie aunty brother sister emperor empress
    cousin pope mother father little poor old young dear saintly grandma grandpa nurse master
    """
)


@cache
def name_twins() -> tuple[Mapping[str, str], Mapping[str, str]]:
    """Male names with their female twins, and the reverse: the table of the probes, then further pairs."""
    bundled: TermPairs = read_terms(bundled_probe_path("en", "names")).terms[None]
    pairs = [
        *zip(bundled.male, bundled.female, strict=True),
        *word_pairs(_FURTHER_PAIRS),
    ]
    males = MappingProxyType(dict(pairs))
    return males, MappingProxyType({female: male for male, female in pairs})


@cache
def names_without_twin() -> frozenset[str]:
    """Well-known first names without a counterpart."""
    males, females = name_twins()
    return word_set(_UNPAIRED) - set(males) - set(females)


def name_twin(tokens: Tokens, at: int) -> WordOutcome:
    """The outcome for a word that may be a first name."""
    token = tokens[at]
    if not is_name_like(tokens, at):
        return None
    name = token.lower.capitalize()
    males, females = name_twins()
    if token.lower in grammar.HONOURS and tokens[at - 1].lower in ("your", "his", "her", "their"):
        return None
    if (token.lower in _MONTHS and _is_month(tokens, at)) or _is_verb(tokens, at):
        return None
    if tokens[at + 1].is_word and tokens[at + 1].lower in PLACES_AFTER and is_name_like(tokens, at + 1):
        return None
    if title_before(tokens, at) in SAINTS_AND_PLACES_BEFORE:
        return None
    if stands_in_compound(tokens, at):
        return Rejected(f"{token.text!r} in a compound")
    if token.lower in ALSO_PLACES and tokens[at - 1].lower in ("in", "near", "from", "to", "at", "of"):
        return Rejected(f"{token.text!r} may be a place")
    if tokens[at - 1].lower == "the" and not is_name_like(tokens, at + 1):
        return Rejected(f"'the {token.text}' may be no person")
    if token.lower in ALSO_WORDS and tokens.begins(at) and not _is_subject(tokens, at):
        return Rejected(f"{token.text!r} may be no name")
    role = _part_of_name(tokens, at, male=name in males)
    if role is not None:
        return role if isinstance(role, Rejected) else None
    if token.lower in ALSO_SURNAMES and not is_name_like(tokens, at + 1):
        return Rejected(f"{token.text!r} may be a first name or a surname")
    if name in names_without_twin():
        return Rejected(f"the name {name} has no twin")
    twin = males.get(name) or females[name]
    return swap(tokens, at, new=twin, role=Role.NAME, male=name in males)


def _is_subject(tokens: Tokens, at: int) -> bool:
    """Whether a verb in the past or the third person makes a first word a name: *Mark asked*, not *Mark my words*."""
    if tokens[at].lower not in ALSO_COUNTED_WORDS:
        return False
    following = tokens[at + 1].lower
    tensed = classes_of(following) & (WordClass.PAST | WordClass.THIRD_PERSON)
    return following in _TENSED or (bool(tensed) and not classes_of(following) & WordClass.PLURAL)


def _is_verb(tokens: Tokens, at: int) -> bool:
    """Whether a subject or an object shows that the word is a verb: *Will you*, *Mark my words*."""
    following = tokens[at + 1].lower
    opens = following in grammar.NOMINAL_STARTS or following in ("his", "her", "that", "there")
    return tokens[at].lower in _VERBS_LIKE_NAMES and opens


def _is_month(tokens: Tokens, at: int) -> bool:
    """Whether *May* is a month, or a verb as in *May she rest*."""
    before = tokens[at - 1]
    if tokens.begins(at):
        return not classes_of(tokens[at + 1].lower) & (WordClass.PAST | WordClass.THIRD_PERSON)
    dated = before.text[0].isdigit() or tokens[at + 1].text[0].isdigit()
    return dated or before.lower in _BEFORE_MONTHS


def _part_of_name(tokens: Tokens, at: int, *, male: bool) -> str | Rejected | None:
    """None for a first name, a word for another part of a name, or why the sentence is rejected."""
    before = tokens[at - 1]
    title = title_before(tokens, at)
    has_surname = is_name_like(tokens, at + 1)
    if title in SURNAME_TITLES:
        if title == "mrs" and male and has_surname:
            return Rejected("a woman called by a man's name")
        return "surname" if male and not has_surname else None
    if title in _FIRST_NAME_TITLES or not is_name_like(tokens, at - 1) or tokens.is_shouted:
        is_initial = before.text == "." and len(tokens[at - 2].text) == 1 and tokens[at - 2].is_capitalised
        return "surname" if is_initial and male and not has_surname else None
    if is_known_name(before.lower):
        return "surname" if male and not has_surname else None
    if before.lower in grammar.TIMES or (tokens.begins(at - 1) and _is_ordinary(before.lower)):
        return None
    return Rejected(f"{tokens[at].text!r} may be a first name or a surname")


def is_known_name(word: str) -> bool:
    """Whether a word in lower case is a well-known first name."""
    name = word.capitalize()
    males, females = name_twins()
    return name in males or name in females or name in names_without_twin()


def _is_ordinary(word: str) -> bool:
    return word in grammar.BEHIND_AN_OBJECT or word in grammar.ADVERBS or bool(classes_of(word))


def title_before(tokens: Tokens, at: int) -> str:
    """The word before a position, without its full stop."""
    return tokens[at - 2].lower if tokens[at - 1].text == "." else tokens[at - 1].lower
