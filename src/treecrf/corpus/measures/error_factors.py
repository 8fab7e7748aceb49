"""The distribution of a parser's errors, given the deviation of its samples: the factors a, b and c of each measure.

`python benchmarks/measures.py factors masc/dev.mrg.gz gum/dev.mrg.gz ptb_sample/dev.mrg.gz ptb_sample/train.mrg.gz
--texts 300` has fitted them to the model `en`, which was not trained on any part of the Penn Treebank sample.
"""

ERROR_FACTORS: dict[str, tuple[float, float, float]] = {
    "W": (1.02, 0.078, -0.006),
    "S": (0.70, 0.049, 0.000),
    "VP": (0.99, 0.051, 0.035),
    "C": (0.90, 0.077, 0.042),
    "T": (1.46, 0.053, -0.094),
    "DC": (0.92, 0.052, 0.063),
    "CT": (1.07, 0.053, 0.020),
    "CP": (1.56, 0.078, -0.062),
    "CN": (1.32, 0.068, -0.032),
    "MLS": (1.02, 0.078, -0.006),
    "MLT": (1.47, 0.053, 0.093),
    "MLC": (0.79, 0.073, -0.038),
    "C/S": (0.90, 0.077, 0.042),
    "VP/T": (1.12, 0.051, 0.097),
    "C/T": (1.02, 0.078, 0.103),
    "DC/C": (0.93, 0.050, 0.045),
    "DC/T": (1.03, 0.055, 0.096),
    "T/S": (1.46, 0.053, -0.094),
    "CT/T": (1.02, 0.057, 0.058),
    "CP/T": (1.54, 0.074, -0.027),
    "CP/C": (1.30, 0.086, -0.074),
    "CN/T": (1.39, 0.067, 0.027),
    "CN/C": (1.05, 0.051, -0.046),
    "nodes": (1.22, 0.128, 0.127),
    "nodes/W": (1.23, 0.129, 0.126),
    "depth": (1.25, 0.052, 0.053),
    "depth_max": (1.21, 0.052, 0.023),
    "yngve": (1.19, 0.052, -0.038),
    "yngve_max": (1.17, 0.070, -0.062),
    "frazier": (1.20, 0.109, 0.128),
    "frazier_max": (1.03, 0.051, 0.035),
}
