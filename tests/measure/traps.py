"""Functions that fool a stopwatch, and honest ones that look like some of them."""

import concurrent.futures
import dataclasses
import functools
import itertools
import os
import threading
import time

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.experimental import io_callback

LARGE = jnp.asarray(np.random.default_rng(0).random((400, 400), np.float32))
LARGE_NUMPY = np.asarray(LARGE)
HUGE = jnp.ones((900, 900))
NULL = os.open(os.devnull, os.O_WRONLY)

numbers = itertools.count()
kept = []


@jax.jit
def heavy(x):
    return LARGE @ LARGE @ (x[0] + LARGE)


@jax.jit
def huge(x, y):
    return y @ y @ (x[0] + y)


def spin(seconds):
    end = time.perf_counter() + seconds
    while time.perf_counter() < end:
        pass


# Compiled or traced again.


def jits_inside(x):
    return jax.jit(lambda y: y + 1)(x)


@functools.partial(jax.jit, static_argnums=1)
def add_static(x, number):
    return x + number


def changes_a_static_argument(x):
    return add_static(x, next(numbers))


def clears_caches(x):
    jax.clear_caches()
    return x + 1


def compiles_at_times(x):
    if next(numbers) % 20 == 0:
        return jax.jit(lambda y: y + 1)(x)
    return x + 1


def changes_shape(x):
    return jnp.sum(jnp.ones(next(numbers) % 5000)) + x


def loops_over_a_new_body(x):
    return lax.fori_loop(0, 3, lambda i, y: y + i, x)


def lowers_inside(x):
    jax.jit(lambda y: y * 2).lower(x).compile()
    return x + 1


def traces_inside(x):
    jax.eval_shape(lambda y: y * 2, x)
    return x + 1


# Nothing, or little, of which is left by XLA.


def drops_its_work(x):
    heavy(x)
    return x + 1


def drops_a_loop(x):
    lax.fori_loop(0, 50, lambda _, y: jnp.sin(y), x)
    return x + 1


def computes_with_constants(x):
    return LARGE @ LARGE


def adds_to_constants(x):
    return x[0] + LARGE @ LARGE


def subtracts_itself(n):
    return n - n


def multiplies_by_one(x):
    return x * 1


def reverses_twice(x):
    return x[::-1][::-1]


def uses_the_shape(x):
    return jnp.sum(jnp.ones(x.shape) * 3)


def multiplies_in_numpy_first(x):
    return jnp.asarray(LARGE_NUMPY @ LARGE_NUMPY)


def evaluates_early(x):
    with jax.ensure_compile_time_eval():
        return LARGE @ LARGE


# The same array again.

memory = {}


def remembers(x):
    if "result" not in memory:
        memory["result"] = heavy(jnp.ones(8))
    return memory["result"]


def remembers_beside(x):
    return remembers(x), x.sum()


@functools.lru_cache
def computed(size):
    return jax.block_until_ready(heavy(jnp.ones(size)))


def uses_an_lru_cache(x):
    return computed(x.size)


def alternates(x):
    while len(kept) < 2:
        kept.append(jax.block_until_ready(heavy(jnp.ones(8))))
    kept.reverse()
    return kept[0]


by_turns = {}


def keeps_four(x):
    number = next(numbers) % 4
    if isinstance(x, jax.core.Tracer):
        return heavy(x)
    if number not in by_turns:
        by_turns[number] = heavy(x)
    return by_turns[number]


def returns_its_argument(x):
    return x


def computes_another(x):
    y = heavy(x)
    return (x, x) if y.shape else x


def remembers_a_copy(x):
    return remembers(x) + 0


def cached(x):
    return x + 1


@functools.lru_cache
def computed_by_numpy(size):
    return LARGE_NUMPY @ LARGE_NUMPY


def cached_numpy(x):
    return computed_by_numpy(x.size)


# Work goes on.

pool = concurrent.futures.ThreadPoolExecutor(1)
task = None


def leaves_it_to_a_pool(x):
    global task
    if task is None or task.done():
        task = pool.submit(spin, 0.1)
    return x + 1


def leaves_sleeping_threads(x):
    threading.Thread(target=time.sleep, args=(0.3,), daemon=True).start()
    return x + 1


def leaves_it_to_the_device(x):
    y = x + 1
    huge(x, HUGE)
    return y


def leaves_it_to_another_device(x):
    device = jax.devices()[-1]
    huge(*jax.device_put((x, HUGE), device))
    return x + 1


def returns_a_future(x):
    return x + 1, pool.submit(spin, 0.0)


def returns_a_generator(x):
    return x + 1, (heavy(x) for _ in range(3))


@dataclasses.dataclass
class State:
    weights: jax.Array


def returns_an_unknown_class(x):
    return x.sum(), State(heavy(x))


def lazy(x):
    return x + 1


def lazy_numpy(x):
    return (LARGE_NUMPY @ LARGE_NUMPY for _ in range(3))


# Side effects.


def calls_back(x):
    shape = jax.ShapeDtypeStruct(x.shape, x.dtype)
    return jax.pure_callback(lambda a: np.asarray(a) + 1, shape, x)


def calls_back_in_a_loop(x):
    return lax.fori_loop(0, 3, lambda _, y: calls_back(y), x)


def does_io(x):
    io_callback(lambda a: None, None, x)
    return x + 1


def debugs(x):
    jax.debug.callback(lambda a: None, x)
    return x + 1


def prints_when_run(x):
    lax.cond(x[0] > 2, lambda: jax.debug.print("{}", x[0]), lambda: None)
    return x + 1


def sleeps(x):
    time.sleep(0.01)
    return x + 1


def sleeps_beside_work(x):
    time.sleep(0.05)  # long beside the work, also where others use the cores
    return heavy(x)


def waits_for_a_lock(x):
    threading.Event().wait(0.01)
    return x + 1


def writes(x):
    os.write(NULL, b"called\n")
    return x + 1


def reads(x):
    with open(__file__, "rb") as file:
        file.read()
    return x + 1


def sleeping(x):
    return x + 1


def sleeping_numpy(x):
    time.sleep(0.01)
    return x + 1


# Caught.


def falls_back(x):
    try:
        return heavy(x) @ jnp.ones((7, 7))
    except TypeError:
        return x + 1


# Honest.


def adds(x):
    return x + 1


def computes(x):
    return heavy(x)


class Model:
    @functools.cached_property
    def weights(self):
        return jnp.ones((8, 8)) * 2


model = Model()
state = jnp.zeros(8)
steps = {"count": 0}


def has_a_cached_property(x):
    return jnp.tanh(x @ model.weights)


def keeps_its_state(x):
    global state
    state = state * 0.9 + x
    return state


def counts(x):
    steps["count"] += 1
    return x + 1


@functools.partial(jax.jit, donate_argnums=0)
def updates(x):
    return x * 2


def chains_donations(x):
    y = x + 1
    for _ in range(3):
        y = updates(y)
    return y


def sets(x):
    return x.at[3].set(1.0)


def body(carry):
    number, y = carry
    return number + 1, y * 1.5


def goes_on(carry):
    return carry[0] < 5


def loops(x):
    return lax.while_loop(goes_on, body, (0, x))[1]


def draws(x):
    return x + jax.random.normal(jax.random.key(0), x.shape)


def learns(x):
    return jax.grad(lambda w: jnp.sum((x[:, None] * w) ** 2))(jnp.ones((8, 8)))


def gradient_of_a_product(x):
    return jax.grad(lambda w: jnp.sum(w @ x))(x)


def sums_up(x):
    return jnp.cumsum(x)


def sorts(x):
    return jnp.sort(x)


def scalar(x):
    return x.sum()


def asks_for_a_value(x):
    return x + float(x[0])


def looks_up(x):
    try:
        return x + memory["missing"]
    except KeyError:
        return x + 1


def passes_on(x):
    return x, x * 2


def uses_a_thread(x):
    found = []
    thread = threading.Thread(target=lambda: found.append(heavy(x)))
    thread.start()
    thread.join()
    return found[0]


def uses_a_pool(x):
    return pool.submit(heavy, x).result()


def in_place(x):
    return x + 1


buffer = np.zeros(8, np.float32)


def in_place_numpy(x):
    return np.add(x, 1, out=buffer)


def product(x):
    return x @ x


def product_numpy(x):
    return LARGE_NUMPY @ LARGE_NUMPY


# The two sides of a function.


def agrees(x):
    return jnp.tanh(x) @ x, x.sum()


def agrees_numpy(x):
    return np.tanh(x) @ x, x.sum()


def lacks_a_result(x):
    return x, x @ x


def lacks_a_result_numpy(x):
    return x


def has_another_shape(x):
    return x[:, None] * x


def has_another_shape_numpy(x):
    return x * x


def has_other_values(x):
    return jnp.sin(x)


def has_other_values_numpy(x):
    return np.cos(x)


def has_other_nans(x):
    return jnp.log(x)


def has_other_nans_numpy(x):
    return np.log(np.abs(x))


def draws_both(x):
    return x + jax.random.normal(jax.random.key(0), x.shape)


def draws_both_numpy(x):
    return x + np.random.default_rng(0).standard_normal(x.shape)


total = jnp.zeros(8)


def adds_up(x):
    global total
    total = total + x
    return total


def adds_up_numpy(x):
    return x


def is_in_place(x):
    return x + 1


def is_in_place_numpy(x):
    x += 1
    return x
