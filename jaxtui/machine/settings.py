"""Environment variables and kernel settings that decide how JAX starts."""

from __future__ import annotations

from collections.abc import Iterator

from jaxtui.machine import slices
from jaxtui.machine.survey import Survey
from jaxtui.model import Finding

_OLDER_TPUS = ("TPU v2", "TPU v3", "TPU v2 or v3", "TPU v4", "TPU v5p")
"""Those to which hugepages make no difference, as JAX has it."""


def settings(survey: Survey) -> Iterator[Finding]:
    """What the settings of this machine mean for JAX."""
    yield from _slice(survey)
    yield from _hugepages(survey)
    yield from _fractions(survey)
    yield from _preallocation(survey)


def _slice(survey: Survey) -> Iterator[Finding]:
    environment = survey.environment
    if not survey.wanted("tpu") or "TPU_PROCESS_BOUNDS" in environment:
        return
    here, count = len(survey.of("tpu")), slices.workers(environment)
    kind = environment.get("TPU_ACCELERATOR_TYPE", "")
    whole = slices.chips_of(kind) or 0
    if count > 1:
        number = environment.get("TPU_WORKER_ID", "?")
        what = f"This is worker {number} of {count} of a TPU slice"
        how = "TPU_WORKER_HOSTNAMES lists the workers."
    elif here and whole > here:
        what = f"This host has {here} of the {whole} chips of a TPU slice {kind}"
        how = f"TPU_ACCELERATOR_TYPE is {kind}; the PCI bus shows {here} chips."
    else:
        return
    yield Finding(
        name="pod-slice",
        severity="info",
        what=f"{what}: JAX waits until every host of it has started JAX.",
        how=how,
        advice=slices.advice(here),
    )


def _hugepages(survey: Survey) -> Iterator[Finding]:
    recent = [chip for chip in survey.of("tpu") if chip.kind not in _OLDER_TPUS]
    if recent and survey.hugepages not in ("", "always"):
        yield Finding(
            name="hugepages",
            severity="warning",
            what="Transparent hugepages are not always on, which makes a TPU slow to "
            "start.",
            how=f"/sys/kernel/mm/transparent_hugepage/enabled is {survey.hugepages}.",
            advice="`echo always | sudo tee "
            "/sys/kernel/mm/transparent_hugepage/enabled`",
        )


def _fractions(survey: Survey) -> Iterator[Finding]:
    new, old = "XLA_CLIENT_MEM_FRACTION", "XLA_PYTHON_CLIENT_MEM_FRACTION"
    both = survey.environment.get(new) and survey.environment.get(old)
    if both and _gpu(survey):
        yield Finding(
            name="memory-fractions",
            severity="error",
            what=f"{new} and {old} are both set, which JAX refuses: its GPU backend "
            "does not start.",
            how="The environment has both; the second is the old name of the first.",
            advice=f"`unset {old}`",
        )


def _preallocation(survey: Survey) -> Iterator[Finding]:
    value = survey.environment.get("XLA_PYTHON_CLIENT_PREALLOCATE")
    if _gpu(survey) and value == "false":
        yield Finding(
            name="preallocation",
            severity="info",
            what="JAX takes GPU memory as it needs it, not three quarters at once.",
            how="XLA_PYTHON_CLIENT_PREALLOCATE is false; jaxtui sets that unless you "
            "have set it, because others may use the GPU too.",
            advice="Set XLA_PYTHON_CLIENT_PREALLOCATE=true to have it as JAX does by "
            "itself.",
        )


def _gpu(survey: Survey) -> bool:
    return any(
        survey.present(maker) and survey.wanted(maker) for maker in ("cuda", "rocm")
    )
