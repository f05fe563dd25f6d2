from . import errors as errors
from . import lm as lm
from .api.connection import Connection as Connection
from .api.connection import connect as connect
from .api.corpus import Corpus as Corpus
from .api.cursor import Cursor as Cursor
from .api.results import DocumentScores as DocumentScores
from .api.results import Probability as Probability
from .api.results import Scores as Scores
from .api.settings import Settings as Settings
from .api.verbs.loading import LoadReport as LoadReport
from .errors import BindError as BindError
from .errors import ConditionWarning as ConditionWarning
from .errors import CorruptionError as CorruptionError
from .errors import DatabaseError as DatabaseError
from .errors import DataError as DataError
from .errors import Error as Error
from .errors import ExecutionError as ExecutionError
from .errors import ExportWarning as ExportWarning
from .errors import FormatVersionError as FormatVersionError
from .errors import IntegrityError as IntegrityError
from .errors import InterfaceError as InterfaceError
from .errors import InternalError as InternalError
from .errors import Interrupted as Interrupted
from .errors import InvalidArgument as InvalidArgument
from .errors import LoadError as LoadError
from .errors import LockedError as LockedError
from .errors import NgramdbError as NgramdbError
from .errors import NotADatabase as NotADatabase
from .errors import NotSupportedError as NotSupportedError
from .errors import OperationalError as OperationalError
from .errors import ParseError as ParseError
from .errors import PhraseWarning as PhraseWarning
from .errors import PlanError as PlanError
from .errors import ProgrammingError as ProgrammingError
from .errors import QueryCancelled as QueryCancelled
from .errors import QueryError as QueryError
from .errors import ReadOnlyError as ReadOnlyError
from .errors import ResourceError as ResourceError
from .errors import StorageError as StorageError
from .errors import TimeoutExceeded as TimeoutExceeded
from .errors import TokenBoundaryWarning as TokenBoundaryWarning
from .errors import Warning as Warning
from .executor.results.result import Result as Result

__version__: str
apilevel: str
threadsafety: int
paramstyle: str
