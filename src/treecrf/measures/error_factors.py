"""The distribution of a parser's errors, given the deviation of its samples: the factors a, b and c of each measure.

`python benchmarks/measures.py factors masc/dev.mrg.gz gum/dev.mrg.gz ptb_sample/dev.mrg.gz ptb_sample/train.mrg.gz
--texts 300` has fitted them to the model `en`, which was not trained on any part of the Penn Treebank sample.
"""

ERROR_FACTORS: dict[str, tuple[float, float, float]] = {
    "W": (1.05, 0.092, 0.028),
    "S": (0.70, 0.055, 0.000),
    "VP": (1.01, 0.059, 0.056),
    "C": (0.93, 0.087, 0.059),
    "T": (1.60, 0.069, -0.128),
    "DC": (0.94, 0.062, 0.064),
    "CT": (1.18, 0.057, 0.015),
    "CP": (1.65, 0.097, -0.093),
    "CN": (1.41, 0.075, 0.010),
    "MLS": (1.05, 0.092, 0.028),
    "MLT": (1.65, 0.068, 0.128),
    "MLC": (0.81, 0.082, -0.052),
    "C/S": (0.93, 0.087, 0.059),
    "VP/T": (1.17, 0.071, 0.130),
    "C/T": (1.11, 0.096, 0.134),
    "DC/C": (0.95, 0.056, 0.035),
    "DC/T": (1.12, 0.067, 0.105),
    "T/S": (1.60, 0.069, -0.128),
    "CT/T": (1.08, 0.064, 0.060),
    "CP/T": (1.66, 0.085, -0.041),
    "CP/C": (1.39, 0.092, -0.097),
    "CN/T": (1.47, 0.082, 0.081),
    "CN/C": (1.10, 0.057, -0.034),
    "nodes": (1.24, 0.124, 0.135),
    "nodes/W": (1.24, 0.126, 0.132),
    "depth": (1.22, 0.057, 0.038),
    "depth_max": (1.25, 0.057, 0.035),
    "yngve": (1.24, 0.057, -0.000),
    "yngve_max": (1.19, 0.063, -0.029),
    "frazier": (1.21, 0.113, 0.137),
    "frazier_max": (1.03, 0.060, 0.043),
}
