"""All imports from supar, which is old and optional; a command without it says how to install it."""

from supar import MODEL, NAME, PARSER
from supar.models import BiaffineDependencyModel, CRFConstituencyModel
from supar.modules.lstm import VariationalLSTM
from supar.utils import Config
from supar.utils.common import BOS, EOS, PAD, UNK
from supar.utils.field import ChartField, Field, RawField, SubwordField
from supar.utils.fn import download
from supar.utils.transform import CoNLL
from supar.utils.transform import Tree as BracketTree
from supar.utils.vocab import Vocab
