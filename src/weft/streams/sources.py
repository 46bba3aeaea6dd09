"""Where the known sets come from: public addresses that anyone can fetch, or what to do by hand.

The addresses name a commit, so that a file behind one cannot change unseen. Nobody publishes SHA-256 sums of these raw
files: the first fetch notes the sum, and a later one must agree (`weft.streams.fetched`). What is known is the sum of
the set that is made from them, and it is checked.
"""

from dataclasses import dataclass

_RAW = "https://raw.githubusercontent.com"
_SPAM = (
    f"{_RAW}/shohoku11wrj/Spam-Filter/f7849e496ba537e6c506f4c773b1d6847b4c3bf8/SpamFilterData/evaluation_data_labeled"
)


@dataclass(frozen=True)
class Source:
    """Raw files by their addresses, in the order in which `weft.streams.conversion` takes them.

    licence  what the place that holds the files says, and of whom the data are
    """

    addresses: tuple[str, ...]
    licence: str

    @property
    def names(self) -> list[str]:
        """The names of the raw files."""
        return [address.rsplit("/", 1)[-1] for address in self.addresses]


SOURCES = {
    "school": Source(
        (f"{_RAW}/jiayuzhou/MALSAR/ca3d55b878cc4113f0d9603e8ac46538aeb1ecd9/data/school.mat",),
        "none is stated for the data, of the Inner London Education Authority, which MALSAR passes on",
    ),
    "landmine": Source(
        (f"{_RAW}/daizhongxiang/Federated_Bayesian_Optimization/"
         "9f46a1dfbbcfd5823e026ad9418a4cb881676ae9/LandmineData.mat",),
        "none is stated for the data, of Xue, Liao, Carin and Krishnapuram (2007)",
    ),
    "pkdd06a": Source(
        tuple(f"{_SPAM}/task_a_lab/task_a_u{user:02}_eval_lab.tf" for user in range(3)),
        "MIT for the repository; the data are of the ECML/PKDD Discovery Challenge 2006",
    ),
    "pkdd06b": Source(
        tuple(f"{_SPAM}/task_b_lab/task_b_u{user:02}_eval_lab.tf" for user in range(15)),
        "MIT for the repository; the data are of the ECML/PKDD Discovery Challenge 2006",
    ),
}  # fmt: skip
"""Sets that `weft data get` fetches and converts by itself."""

_SPLIT = "how the words were split and chosen was not recorded, so that no script makes this very file"
BY_HAND = {
    "emnist_byclass": "the pictures X_test_*.webp and test.json in emnist-byclass at github.com/0r4nd/emnist-packed; "
    "which 24,648 of the 116,323 test pictures were taken is in the array row_in_test of the set alone",
    "lenk": "the survey in data/computer_survey at github.com/tjanez/PyMTL; its layout was not recorded",
    "mhc1": "curated_training_data.no_mass_spec.zip in epitopepredict/mhcdata at github.com/dmnfarrell/epitopepredict; "
    "how alleles and peptides were chosen was not recorded",
    "movielens_cf": "https://files.grouplens.org/datasets/movielens/ml-100k.zip (MD5 "
    "0e33842e24a9c977be4e0107933c0723 by GroupLens), for research and not to be passed on; which 60 users and 200 "
    "ratings of each were taken was not recorded",
    "mtl16": f"data/fdu-mtl at github.com/ccsasuke/man, files NAME.task.train and NAME.task.test; {_SPLIT}",
    "pu_spam": "the PU corpora of Androutsopoulos, Paliouras and Michelakis (2004), for non-commercial use, also at "
    "github.com/marcellonascif/smishing-models; how the four vocabularies were numbered was not recorded",
    "rcv1_2316": f"data/rcv1_dev.json at github.com/Tencent/NeuralNLP-NeuralClassifier; {_SPLIT}",
    "reuters21578": f"reut2-000.sgm to reut2-021.sgm, also at github.com/wuodar/reuters_text_classification; {_SPLIT}",
    "sentiment4": f"the multi-domain sentiment data of Blitzer, Dredze and Pereira (2007), also at "
    f"github.com/RyosukeOzaki/Logistic-Regression; {_SPLIT}",
}
"""For the others: where the raw data are, and why a script cannot make the file."""
