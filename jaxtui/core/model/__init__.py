"""The nouns of jaxtui as frozen records, and the events that carry them.

Everything here is plain data: no jax, no numpy, no textual. Times are seconds, rates
are per second, memory is bytes; a field that a device, mode or op does not have is
``None``. The records are what the engine puts on the wire and what ``--json`` prints.

All of it is here under its own name, but for ``ahead`` and ``own``.
"""

from jaxtui.core.model.base import *
from jaxtui.core.model.cases import *
from jaxtui.core.model.check import *
from jaxtui.core.model.events import *
from jaxtui.core.model.hosts import *
from jaxtui.core.model.loops import *
from jaxtui.core.model.machine import *
from jaxtui.core.model.measurement import *
from jaxtui.core.model.profile import *
from jaxtui.core.model.programs import *
from jaxtui.core.model.remark import *
from jaxtui.core.model.roofs import *
from jaxtui.core.model.snippets import *
