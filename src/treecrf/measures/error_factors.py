"""The ratio of a parser's errors to the deviation of its samples: the factors a and b of each measure.

`python benchmarks/measures.py factors masc/dev.mrg.gz ptb_sample/dev.mrg.gz gum/dev.mrg.gz --texts 300` has fitted them
to the model `en`, for the treebank that needs the largest ones. The least values are 0.7 and 0.05, because kinds of
text differ more than these development sets.
"""

ERROR_FACTORS: dict[str, tuple[float, float]] = {
    "W": (0.96, 0.150),
    "S": (0.70, 0.050),
    "VP": (1.04, 0.050),
    "C": (1.03, 0.050),
    "T": (2.25, 0.050),
    "DC": (1.23, 0.050),
    "CT": (1.29, 0.050),
    "CP": (2.42, 0.050),
    "CN": (1.32, 0.050),
    "MLS": (0.96, 0.150),
    "MLT": (2.48, 0.050),
    "MLC": (0.91, 0.050),
    "C/S": (1.03, 0.050),
    "VP/T": (1.33, 0.110),
    "C/T": (1.44, 0.090),
    "DC/C": (1.22, 0.050),
    "DC/T": (1.40, 0.065),
    "T/S": (2.25, 0.050),
    "CT/T": (1.30, 0.050),
    "CP/T": (2.15, 0.050),
    "CP/C": (1.74, 0.115),
    "CN/T": (1.58, 0.050),
    "CN/C": (1.09, 0.050),
    "nodes": (1.46, 0.210),
    "nodes/W": (1.40, 0.210),
    "depth": (1.24, 0.050),
    "depth_max": (1.33, 0.080),
    "yngve": (1.31, 0.050),
    "yngve_max": (1.35, 0.050),
    "frazier": (1.44, 0.195),
    "frazier_max": (1.00, 0.050),
}
