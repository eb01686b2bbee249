"""Every mistake that an audit knows, one a function; where a line makes it, its end
names the kind.
"""

import time
import timeit
from datetime import datetime

import jax
import jax.numpy as jnp
import numpy as np

x = jnp.ones((700, 700))
small = jnp.ones(8)
host = np.ones((700, 700), np.float32)
product = jax.jit(lambda x: x @ x @ x @ x)
shift = jax.jit(lambda x: x + 1)
late = jax.jit(lambda x: jnp.tanh(x @ x))
alone = jax.jit(lambda x: x @ x)
for warm in (product(x), product(host), shift(x), shift(small), alone(x)):
    warm.block_until_ready()


def unawaited():
    for _ in range(5):
        start = time.perf_counter()
        y = product(x)
        end = time.perf_counter()  # unawaited
        print(end - start)
        y.block_until_ready()


def dropped():
    total = 0.0
    for _ in range(5):
        total -= time.perf_counter()
        product(x)
        total += time.perf_counter()  # unawaited
    return total


def started_busy():
    for _ in range(5):
        for _ in range(4):
            y = product(x)
        start = time.monotonic()  # started-busy
        shift(x).block_until_ready()
        y.block_until_ready()
        print(time.monotonic() - start)


def first_call():
    start = time.time()  # first-call
    for _ in range(3):
        y = late(x)
    y.block_until_ready()
    print(time.time() - start)


def recompiles():
    start = time.perf_counter_ns()
    for n in range(2, 5):
        shift(jnp.ones(n)).block_until_ready()
    print(time.perf_counter_ns() - start)  # recompiles


def sent():
    for _ in range(3):
        start = time.perf_counter()  # transfer
        product(host).block_until_ready()
        print(time.perf_counter() - start)


def fetched():
    for _ in range(3):
        start = time.perf_counter()
        np.asarray(product(x))  # transfer
        print(time.perf_counter() - start)


def idle_wait():
    for _ in range(3):
        start = time.perf_counter()
        y = product(x)
        jax.block_until_ready(product)  # idle-wait
        y.block_until_ready()
        print(time.perf_counter() - start)


def too_short():
    for _ in range(20):
        start = datetime.now()
        shift(small).block_until_ready()
        print((datetime.now() - start).total_seconds())  # too-short


def one_repeat():
    start = time.perf_counter()
    alone(x).block_until_ready()
    print(time.perf_counter() - start)  # one-repeat


def by_timeit():
    print(timeit.timeit(lambda: product(x), number=5))  # unawaited


def by_text():
    print(timeit.timeit("product(x)", globals=globals(), number=5))  # unawaited


for function in (
    unawaited,
    dropped,
    started_busy,
    first_call,
    recompiles,
    sent,
    fetched,
    idle_wait,
    too_short,
    one_repeat,
    by_timeit,
    by_text,
):
    function()
    for _ in range(3):
        shift(product(x)).block_until_ready()
