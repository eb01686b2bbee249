"""One line that puts the allocator of a process into the state that a busy one has."""

from __future__ import annotations

LARGEST_BLOCK = 2**25 - 2**16
"""Bytes: glibc's malloc learns from no larger one."""

SETTLED = f"""\
# A large block, freed at once: from now on malloc keeps what is freed. Otherwise it may
# return the arrays of every call to the system, and clear new pages for the next.
bytes({LARGEST_BLOCK})
"""
