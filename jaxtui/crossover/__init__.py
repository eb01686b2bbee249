"""Where does one way of running an op overtake another? Costs, search and answers.

Pure functions over measurements and one immutable search state: nothing here runs,
draws or waits.
"""

from jaxtui.crossover.answer import Answer, Crossing, Payback, answer, answers, paybacks
from jaxtui.crossover.costs import CLOCKS, Clock, clocks, cost
from jaxtui.crossover.points import Point, faster, ratio
from jaxtui.crossover.search import Search, begin, cancelled, observe, shown_sizes
from jaxtui.crossover.sizes import CLOSE, middle

__all__ = [
    "CLOCKS",
    "CLOSE",
    "Answer",
    "Clock",
    "Crossing",
    "Payback",
    "Point",
    "Search",
    "answer",
    "answers",
    "begin",
    "cancelled",
    "clocks",
    "cost",
    "faster",
    "middle",
    "observe",
    "paybacks",
    "ratio",
    "shown_sizes",
]
