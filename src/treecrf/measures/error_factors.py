"""The ratio of a parser's errors to the deviation of its samples: the factors a and b of each measure.

`python benchmarks/measures.py factors masc/dev.mrg.gz ptb_sample/dev.mrg.gz --texts 300` has fitted them to the model
`en`. The least values are 0.7 and 0.05, because kinds of text differ more than these two development sets.
"""

ERROR_FACTORS: dict[str, tuple[float, float]] = {
    "W": (0.70, 0.080),
    "S": (0.70, 0.050),
    "VP": (0.97, 0.050),
    "C": (0.82, 0.060),
    "T": (1.47, 0.095),
    "DC": (0.96, 0.050),
    "CT": (0.98, 0.050),
    "CP": (1.39, 0.050),
    "CN": (1.13, 0.065),
    "MLS": (0.70, 0.080),
    "MLT": (1.45, 0.100),
    "MLC": (0.70, 0.050),
    "C/S": (0.82, 0.060),
    "VP/T": (1.05, 0.115),
    "C/T": (0.97, 0.120),
    "DC/C": (0.73, 0.050),
    "DC/T": (1.06, 0.075),
    "T/S": (1.47, 0.095),
    "CT/T": (0.89, 0.050),
    "CP/T": (1.42, 0.050),
    "CP/C": (1.12, 0.090),
    "CN/T": (1.23, 0.115),
    "CN/C": (0.74, 0.050),
    "nodes": (1.41, 0.240),
    "nodes/W": (1.41, 0.240),
    "depth": (0.97, 0.125),
    "depth_max": (1.08, 0.130),
    "yngve": (0.95, 0.135),
    "yngve_max": (0.99, 0.160),
    "frazier": (1.35, 0.250),
    "frazier_max": (0.86, 0.095),
}
