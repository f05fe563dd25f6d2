from .connecting import Connecting as Connecting
from .connecting import Connection as Connection
from .connecting import RemoteConnection as RemoteConnection
from .connecting import connect as connect
from .connecting import connect_remote as connect_remote
from .verbs import Corpus as Corpus
from .verbs import Result as Result
