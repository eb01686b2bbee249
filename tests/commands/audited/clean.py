"""Ways to time JAX that are right."""

import threading
import time
import timeit

import jax
import jax.numpy as jnp
import numpy as np

x = jnp.ones((400, 400))
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

# The first is dropped.
times = []
for _ in range(4):
    start = time.time()
    jax.block_until_ready(jnp.tanh(x))
    times.append(time.time() - start)
print(np.mean(times[1:]))

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


def seconds(function, *args):
    begin = time.perf_counter()
    jax.block_until_ready(function(*args))
    return time.perf_counter() - begin


cube = jax.jit(lambda x: x @ x @ x)
print("compile", seconds(cube, x))
print(min(seconds(cube, x) for _ in range(5)))


def work():
    for _ in range(5):
        start = time.perf_counter()
        product(x).block_until_ready()
        print(time.perf_counter() - start)


threads = [threading.Thread(target=work) for _ in range(2)]
for thread in threads:
    thread.start()
