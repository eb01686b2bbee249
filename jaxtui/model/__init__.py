"""The nouns of jaxtui as frozen records, and the events that carry them.

Everything here is plain data: no jax, no numpy, no textual. Times are seconds, rates
are per second, memory is bytes; a field that a device, mode or op does not have is
``None``. The records are what the engine puts on the wire and what ``--json`` prints.

All of it is here under its own name, but for ``ahead`` and ``own``.
"""

from jaxtui.model.base import *
from jaxtui.model.cases import *
from jaxtui.model.check import *
from jaxtui.model.events import *
from jaxtui.model.hosts import *
from jaxtui.model.loops import *
from jaxtui.model.machine import *
from jaxtui.model.measurement import *
from jaxtui.model.profile import *
from jaxtui.model.programs import *
from jaxtui.model.remark import *
from jaxtui.model.roofs import *
from jaxtui.model.snippets import *
