"""The tests of the health check: they measure, and judge nothing.

One module per test, named after it. Its ``test`` yields ``CheckDoing``, ``CheckRead``
and ``CheckDone`` of every device that takes part.
"""
