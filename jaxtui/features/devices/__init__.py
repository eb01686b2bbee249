"""The devices of a machine: what there is, how they sit, how full they are."""
