"""Every mistake that an audit knows, one a function; where a line makes it, its end
names the kind.
"""

import time
import timeit

import jax
import jax.numpy as jnp
import numpy as np

x = jnp.ones((700, 700))
host = np.ones((700, 700), np.float32)
product = jax.jit(lambda x: x @ x @ x @ x)
shift = jax.jit(lambda x: x + 1)
late = jax.jit(lambda x: jnp.tanh(x @ x))
batch = jax.jit(lambda w, images: images["pixels"] @ w)
scaled = jax.jit(lambda x, rate: jnp.sin(x @ x) * rate)
for warm in (
    product(x),
    product(host),
    shift(x),
    batch(x, {"pixels": host}),
    scaled(x, 0.1),
):
    warm.block_until_ready()


def unawaited():
    for _ in range(5):
        start = time.perf_counter()
        y = product(x)
        end = time.perf_counter()  # unawaited
        print(end - start)
        y.block_until_ready()


def timed(function, x):
    start = time.time()
    function(x)
    return time.time() - start  # unawaited


def stamps():
    stamps = [time.perf_counter()]
    for _ in range(20):
        product(x)
        stamps.append(time.perf_counter())  # unawaited
    print(np.diff(stamps))


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


def other_type():
    rate = jnp.ones(())
    start = time.time()  # first-call
    for _ in range(3):
        y = scaled(x, rate)
    print(time.time() - start)  # unawaited
    y.block_until_ready()


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


def sent_in_a_dict(images):
    for _ in range(3):
        start = time.perf_counter()  # transfer
        batch(x, images).block_until_ready()
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


def cpu_seconds():
    for _ in range(3):
        start = time.process_time()
        product(x).block_until_ready()
        print(time.process_time() - start)  # cpu-time


@jax.jit
def inside(x):
    start = time.perf_counter()
    y = jnp.tanh(x @ x)
    print(time.perf_counter() - start)  # traced-clock
    return y


def by_timeit():
    print(timeit.timeit(lambda: product(x), number=5))  # unawaited


def by_text():
    print(timeit.timeit("product(x)", globals=globals(), number=5))  # unawaited


for _ in range(5):
    timed(np.tanh, host)
    timed(product, x)
unawaited()
stamps()
started_busy()
first_call()
other_type()
recompiles()
sent()
sent_in_a_dict({"pixels": host})
fetched()
idle_wait()
cpu_seconds()
inside(x).block_until_ready()
by_timeit()
by_text()
