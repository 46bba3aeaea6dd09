"""The public data sets that weft can find by name: contents, origin, terms of use, and checksums.

weft contains no data. A set is one file, `NAME.npz`; the checksum tells whether a file is the one for which figures
were published.
"""

from dataclasses import dataclass
from typing import Literal

LabelKind = Literal["binary", "number", "class", "topics"]


@dataclass(frozen=True)
class KnownSet:
    """One data set as in its file.

    rows, features, tasks  its size; for a set with many labels per row (topics), `tasks` counts the labels
    label      binary: -1 or +1; number; class: 0, 1, ...; topics: any number of labels per row
    by_row     further arrays with an entry per row; `more`: further arrays with other lengths
    """

    name: str
    about: str
    rows: int
    features: int
    tasks: int
    label: LabelKind
    sparse: bool
    origin: str
    terms: str
    size: int
    sha256: str
    by_row: tuple[str, ...] = ()
    more: tuple[str, ...] = ()


_UNSTATED = "for research; the origin's terms were not recorded"

_ALL = (
    KnownSet(
        "emnist_byclass", "handwritten digits and letters, 28 x 28 grey values", 24_648, 784, 62, "class", False,
        "EMNIST by class, as packed at github.com/0r4nd/emnist-packed", _UNSTATED,
        9_892_762, "b8a70a955dd51e203398996eea07d90580ec5797179aae43f7ce66ee301553b7",
        ("row_in_test",), ("class_group",),
    ),
    KnownSet(
        "landmine", "radar pictures of 29 mine fields: mine or clutter", 14_820, 9, 29, "binary", False,
        "LandmineData.mat at github.com/daizhongxiang/Federated_Bayesian_Optimization", _UNSTATED,
        1_025_325, "483f0a5763c746a3c0eb945489d86cb5ba2e64c62d1e3e1f62dd79cc9c097080",
        (), ("task_group", "tasks19"),
    ),
    KnownSet(
        "lenk", "how likely 190 persons are to buy each of 20 computers", 3_800, 14, 190, "number", False,
        "data/computer_survey at github.com/tjanez/PyMTL (survey of Lenk, DeSarbo, Green and Young 1996)", _UNSTATED,
        18_201, "89b68ea37120e08530283ac533b7f521119d593fbc907d8ec8209e467830ff6e",
        ("profile", "calibration"), ("design", "respondent_Z", "respondent_Z_names"),
    ),
    KnownSet(
        "mhc1", "which peptides of nine amino acids 50 MHC class I alleles bind", 118_149, 180, 50, "binary", True,
        "the MHCflurry curation of IEDB, at github.com/dmnfarrell/epitopepredict", _UNSTATED,
        2_169_828, "1325d8eb8c594dac877d2b2cac687d3e6bd6bd3089d3bb8f5a0e16f9dada1213",
        ("log10_ic50", "quantitative", "peptide"),
    ),
    KnownSet(
        "movielens_cf", "which films 60 users like; features: others' ratings", 12_000, 883, 60, "binary", True,
        "made from MovieLens 100K (GroupLens)", "research use only, not to be passed on",
        2_438_496, "16ba22a3a408db4c1b8a587a49ce05e65b28cf38013d61574226357794655661",
        ("rating", "item", "timestamp"),
    ),
    KnownSet(
        "mtl16", "product and film reviews of 16 domains: positive or negative", 31_780, 41_633, 16, "binary", True,
        "data/fdu-mtl at github.com/ccsasuke/man", _UNSTATED,
        4_736_128, "795a47202145ee25d72df7dfe0c879b465aea677ba6b0841348ec1f000bb3a36",
        ("split",),
    ),
    KnownSet(
        "pkdd06a", "mail of 3 users: spam or not (ECML/PKDD 2006, task A)", 7_500, 106_780, 3, "binary", True,
        "github.com/shohoku11wrj/Spam-Filter", _UNSTATED,
        1_909_774, "bbb38ebe7061fd6405be89adbee6777e2b832c927054da664c52a9729c554df8",
    ),
    KnownSet(
        "pkdd06b", "mail of 15 users: spam or not (ECML/PKDD 2006, task B)", 6_000, 152_543, 15, "binary", True,
        "github.com/shohoku11wrj/Spam-Filter", _UNSTATED,
        1_831_403, "115cad163208a54755a8da6087e7a54d4c0055cb88b48b99fe768c02d983ca0c",
    ),
    KnownSet(
        "pu_spam", "mail of 4 users, each with a dictionary of its own: spam or not", 7_070, 69_600, 4, "binary", True,
        "the PU corpora, at github.com/marcellonascif/smishing-models", "not for commercial use",
        2_826_521, "a31cf56d3ed0f0772aa8a93609c8442e3d7da6a4908ef5d3e9668524c8983b09",
        ("fold",), ("task_vocab_size", "task_offset"),
    ),
    KnownSet(
        "rcv1_2316", "a tenth of the training documents of RCV1, shuffled", 2_316, 13_429, 98, "topics", True,
        "data/rcv1_dev.json at github.com/Tencent/NeuralNLP-NeuralClassifier", _UNSTATED,
        510_582, "3c05e8f14cd63b8045d9b200ac4f886a400c706681d46b950ffff9fd670a582d",
    ),
    KnownSet(
        "reuters21578", "newswire of 1987 in chronological order, with topics", 12_902, 19_825, 118, "topics", True,
        "github.com/wuodar/reuters_text_classification", _UNSTATED,
        1_816_381, "24ae03e8bc71c37508280e925f077377d2adb41eee47b25ab691dd63094d261d",
        ("split", "date", "newid"),
    ),
    KnownSet(
        "school", "exam scores of pupils at 139 London schools, 1985 to 1987", 15_362, 28, 139, "number", False,
        "data/school.mat at github.com/jiayuzhou/MALSAR (Inner London Education Authority)", _UNSTATED,
        52_972, "aab534b9ddcd0c78c3c29a87c8fee21cd82a246a0e6858aa28329a265d48497d",
    ),
    KnownSet(
        "sentiment4", "product reviews of 4 domains: positive or negative", 8_000, 473_856, 4, "binary", True,
        "processed_acl at github.com/RyosukeOzaki/Logistic-Regression (Blitzer, Dredze and Pereira 2007)", _UNSTATED,
        5_577_169, "70baebbcf6474728e9ecb4dc69ae2b8b5e6745a9813ebdbf711ae0d9f200efe5",
        ("rating", "date"),
    ),
)  # fmt: skip

SETS = {known.name: known for known in _ALL}
"""Every set by its name."""
