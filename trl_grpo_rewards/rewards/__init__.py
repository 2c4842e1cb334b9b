"""The library of rewards. Each file with an `__all__` covers one topic."""

from . import answers, appeals, constraints, formats, judges, lengths, patterns, programs, texts, tools
from .answers import *
from .appeals import *
from .constraints import *
from .formats import *
from .judges import *
from .lengths import *
from .patterns import *
from .programs import *
from .texts import *
from .tools import *


__all__ = []
__all__ += answers.__all__
__all__ += appeals.__all__
__all__ += constraints.__all__
__all__ += formats.__all__
__all__ += judges.__all__
__all__ += lengths.__all__
__all__ += patterns.__all__
__all__ += programs.__all__
__all__ += texts.__all__
__all__ += tools.__all__
