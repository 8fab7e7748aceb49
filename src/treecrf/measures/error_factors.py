"""The ratio of a parser's errors to the deviation of its samples: the factors a and b of each measure.

`python benchmarks/measures.py factors masc/dev.mrg.gz ptb_sample/dev.mrg.gz gum/dev.mrg.gz --texts 300` has fitted them
to the model `en`. The factor b allows for kinds of text that differ more than these three treebanks.
"""

ERROR_FACTORS: dict[str, tuple[float, float]] = {
    "W": (0.81, 0.141),
    "S": (0.70, 0.112),
    "VP": (0.97, 0.112),
    "C": (0.94, 0.112),
    "T": (1.77, 0.115),
    "DC": (1.09, 0.112),
    "CT": (1.20, 0.112),
    "CP": (1.83, 0.112),
    "CN": (1.18, 0.112),
    "MLS": (0.81, 0.141),
    "MLT": (1.88, 0.120),
    "MLC": (0.84, 0.112),
    "C/S": (0.94, 0.112),
    "VP/T": (1.22, 0.163),
    "C/T": (1.26, 0.141),
    "DC/C": (1.06, 0.112),
    "DC/T": (1.25, 0.112),
    "T/S": (1.77, 0.115),
    "CT/T": (1.18, 0.112),
    "CP/T": (1.75, 0.112),
    "CP/C": (1.44, 0.112),
    "CN/T": (1.34, 0.112),
    "CN/C": (1.02, 0.112),
    "nodes": (1.33, 0.253),
    "nodes/W": (1.31, 0.253),
    "depth": (1.16, 0.112),
    "depth_max": (1.27, 0.112),
    "yngve": (1.18, 0.112),
    "yngve_max": (1.20, 0.112),
    "frazier": (1.34, 0.239),
    "frazier_max": (0.98, 0.112),
}
