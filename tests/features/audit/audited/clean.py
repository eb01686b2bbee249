"""Ways to time JAX that are right, as people write them."""

import contextlib
import functools
import threading
import time
import timeit

import jax
import jax.numpy as jnp
import numpy as np

x = jnp.ones((400, 400))
host = np.ones((400, 400), np.float32)
product = jax.jit(lambda x: x @ x @ x @ x)
step = jax.jit(lambda w: (w - 0.1 * (x @ w), jnp.sum(w)))

# Compiling on purpose, and apart.
start = time.perf_counter()
product(x).block_until_ready()
print(time.perf_counter() - start)

times = []
for _ in range(10):
    start = time.perf_counter()
    product(x).block_until_ready()
    times.append(time.perf_counter() - start)

# The first of several compiles.
times = []
for _ in range(4):
    start = time.time()
    jax.block_until_ready(jnp.tanh(x))
    times.append(time.time() - start)
print(np.mean(times[1:]))

# Compiling alone.
start = time.perf_counter()
compiled = jax.jit(lambda x: jnp.sin(x @ x)).lower(x).compile()
print(time.perf_counter() - start)

# Once.
start = time.perf_counter()
compiled(x).block_until_ready()
print(time.perf_counter() - start)

# Many calls, awaited once.
start = time.perf_counter_ns()
for _ in range(50):
    y = product(x)
y.block_until_ready()
print((time.perf_counter_ns() - start) / 50)

print(timeit.repeat(lambda: product(x).block_until_ready(), number=3, repeat=3))

# A training loop that prints its loss waits for it.
w, loss = step(x)
loss.block_until_ready()
for _ in range(3):
    start = time.monotonic()
    for _ in range(5):
        w, loss = step(w)
    print(float(loss), time.monotonic() - start)

# Stamps.
stamps = [time.perf_counter()]
for _ in range(10):
    product(x).block_until_ready()
    stamps.append(time.perf_counter())
print(np.diff(stamps).mean())

# What the call takes, on purpose.
for _ in range(3):
    start = time.perf_counter()
    y = product(x)
    print("dispatch", time.perf_counter() - start)  # jaxtui: ok
    y.block_until_ready()


# One function for NumPy and JAX, which waits for what comes.
def seconds(function, *args):
    begin = time.perf_counter()
    jax.block_until_ready(function(*args))
    return time.perf_counter() - begin


cube = jax.jit(lambda x: x @ x @ x)
print("compile", seconds(cube, x))
print(min(seconds(cube, x) for _ in range(5)))
print("numpy", min(seconds(np.tanh, host) for _ in range(5)))


# A timer whose first readings are dropped by another function.
class Timer:
    def __enter__(self):
        self.start = time.perf_counter()
        return self

    def __exit__(self, *exception):
        self.elapsed = time.perf_counter() - self.start


def statistics(times, burnin=1):
    return np.mean(times[burnin:])


late, times = jax.jit(lambda x: jnp.cos(x @ x)), []
for _ in range(6):
    with Timer() as timer:
        late(x).block_until_ready()
    times.append(timer.elapsed)
print(statistics(times))


@contextlib.contextmanager
def timed(seconds):
    start = time.perf_counter()
    yield
    seconds.append(time.perf_counter() - start)


for function in (cube, product):
    for _ in range(4):
        with timed(times):
            function(x).block_until_ready()


def logged(function):
    @functools.wraps(function)
    def run(*args):
        start = time.time()
        result = jax.block_until_ready(function(*args))
        print(function.__name__, time.time() - start)
        return result

    return run


@logged
def decorated(x):
    return cube(x)


for _ in range(4):
    decorated(x)


# Several sizes, each of which compiles once.
for n in (100, 200, 300):
    small = jnp.ones((n, n))
    print(n, min(timeit.repeat(lambda x=small: cube(x).block_until_ready(), number=1)))

# No array, and there is something to wait for.
jax.block_until_ready(jax.random.key(0))


def work():
    for _ in range(5):
        start = time.perf_counter()
        product(x).block_until_ready()
        print(time.perf_counter() - start)


threads = [threading.Thread(target=work) for _ in range(2)]
for thread in threads:
    thread.start()
