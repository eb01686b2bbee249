"""Nineteen lists of devices, recorded with libtpu's topology descriptions."""

from pathlib import Path

RECORD = Path(__file__).with_name("tpu_topologies.json")
