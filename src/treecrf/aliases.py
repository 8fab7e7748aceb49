"""Names of version 0.1 that still work in 0.2, with a DeprecationWarning; 0.3 removes them.

Old import paths (`treecrf.cnf`), old settings in TOML files (`forms`), old attributes of parsers (`parser.price`), and
old records of calibrations.
"""

import sys
import warnings
from collections.abc import Collection, Sequence
from importlib import import_module
from importlib.machinery import ModuleSpec
from importlib.util import find_spec
from types import ModuleType
from typing import Any

# all names of modules are relative to treecrf
PACKAGES = {"draw": "viz", "encode": "data", "experiments": "reproduce", "train": "training"}
MODULES = {
    "analysis": "decoding.analysis",
    "brackets": "treebank.bracket_writer",
    "calibration.adjustment": "calibration.fit",
    "calibration.diagram": "calibration.plot",
    "calibration.evidence": "calibration.predictions",
    "calibration.saved": "calibration.io",
    "card": "export.model_card",
    "certainty": "decoding.beta_calibration",
    "chart.compiled": "chart.cpu_backend",
    "chart.decode": "chart.kbest",
    "chart.inside": "chart.torch_backend",
    "chart.kernels": "chart.triton_backend",
    "chart.meeting": "chart.grid_sync",
    "chart.ops": "chart.dispatch",
    "checkpoint": "atomic_io",
    "cli.manifest": "bulk.manifest",
    "cli.records": "bulk.records",
    "cli.shards": "bulk.shards",
    "cli.sinks": "bulk.outputs",
    "cli.sources": "bulk.inputs",
    "cli.worker": "bulk.worker",
    "cnf": "treebank.binarize",
    "constraints": "decoding.constraints",
    "corpora": "treebank.releases",
    "draw.colours": "viz.colors",
    "draw.metrics": "viz.text_metrics",
    "draw.page": "viz.html",
    "encode.batching": "data.bucketing",
    "encode.encoder": "data.numericalize",
    "encode.pieces": "data.subwords",
    "encode.tokenizer": "data.tokenizers",
    "evalb.details": "evalb.extended_report",
    "exam": "parser.evaluate",
    "experiments.clock": "bulk.timer",
    "experiments.judgement": "reproduce.calibration_table",
    "experiments.peers": "reproduce.baselines",
    "experiments.picture": "reproduce.plot",
    "experiments.rows": "reproduce.ablations",
    "flow": "parser.pipeline",
    "folder": "parser.storage",
    "forms": "text.normalization",
    "harvest": "decoding.tree_builder",
    "nltk_parser": "integrations.nltk",
    "nn.beliefs": "nn.distillation",
    "nn.blank": "nn.skip_init",
    "nn.embed": "nn.embeddings",
    "nn.int8": "runtime.int8",
    "nn.kernels": "nn.triton_lstm",
    "nn.precision": "runtime.scorer",
    "nn.recurrence": "nn.lstm_recurrence",
    "nn.scorer": "nn.scorers",
    "nn.scores": "nn.outputs",
    "nn.worth": "decoding.expected_f1",
    "packing": "export.pack",
    "ray_engine": "bulk.ray_engine",
    "render": "parser.formats",
    "server.access": "server.auth",
    "server.body": "server.request_body",
    "server.files": "server.static_files",
    "server.journal": "server.access_log",
    "server.problem": "server.errors",
    "server.reading": "server.request_parsing",
    "server.reference": "server.openapi",
    "server.turn": "server.parse_batch",
    "spacy_component": "integrations.spacy",
    "spacy_extensions": "integrations.spacy_extensions",
    "train.average": "training.ema",
    "train.feed": "training.data_loader",
    "train.ingredients": "training.setup",
    "train.journal": "training.metrics_log",
    "train.recipe": "training.config",
    "train.resume": "training.checkpoint",
    "train.room": "data.padding",
    "train.tape": "training.cuda_graphs",
    "train.teachers": "training.distillation",
    "weights": "runtime.weights",
    "window": "parser.inputs",
}
# old names in old modules
NAMES = {
    "forms": {"Forms": "Normalization", "reader": "normalizer"},
    "train": {"Outcome": "TrainingResult"},
}

SETTINGS = {
    "average": "ema_decay",
    "certainty": "calibration",
    "forms": "normalization",
    "price": "f1_threshold",
    "recurrent": "recurrent_dropout",
    "transformer_inputs": "add_word_inputs",
    "trust": "distillation_weight",
}


class _OldModule(ModuleType):
    """A module under its old name, with the attributes of the new module."""

    def __init__(self, name: str, new: ModuleType) -> None:
        super().__init__(name, f"The old name of `{new.__name__}`.")
        self.__dict__["_new"] = new

    def __getattr__(self, name: str) -> object:
        if name == "__path__":  # with the path of the new package, Python would load its modules a second time
            raise AttributeError(name)
        names = NAMES.get(self.__name__.removeprefix("treecrf."), {})
        return getattr(self._new, names.get(name, name))

    def __setattr__(self, name: str, value: object) -> None:
        # importing treecrf.draw.svg must not replace the function treecrf.draw.svg by the module
        if not (isinstance(value, ModuleType) and hasattr(self._new, name)):
            super().__setattr__(name, value)


class _OldModuleFinder:
    """Imports modules by their old names. It has no base class of importlib.abc, whose import takes long."""

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        old = name.removeprefix("treecrf.")
        if old == name or not _new_name(old):
            return None
        return ModuleSpec(name, self, is_package=old in PACKAGES)  # type: ignore[arg-type]  # it has a loader's methods

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        new = f"treecrf.{_new_name(spec.name.removeprefix('treecrf.'))}"
        warnings.warn(f"{spec.name} is now {new}; the old name goes in 0.3", DeprecationWarning, stacklevel=2)
        return _OldModule(spec.name, import_module(new))

    def exec_module(self, module: ModuleType) -> None:
        """Does nothing: the new module has been executed."""


def _new_name(old: str) -> str:
    """The new name of a module, or an empty string if its name is not an old one."""
    if old in MODULES:
        return MODULES[old]
    package, _, module = old.partition(".")
    if package not in PACKAGES or not module:
        return PACKAGES.get(old, "")
    new = f"{PACKAGES[package]}.{module}"
    return new if find_spec(f"treecrf.{new}") else ""


def install_old_modules() -> None:
    """Makes the old import paths work."""
    if not any(isinstance(finder, _OldModuleFinder) for finder in sys.meta_path):
        sys.meta_path.append(_OldModuleFinder())


def current_setting(name: str, known: Collection[str]) -> str:
    """The current name of a setting `section.setting`, with a warning if the name is an old one."""
    section, dot, key = name.rpartition(".")
    new = f"{section}{dot}{SETTINGS.get(key, key)}"
    if name in known or new not in known or new == name:
        return name
    warnings.warn(f"the setting '{name}' is now '{new}'; the old name goes in 0.3", DeprecationWarning, stacklevel=2)
    return new


def _renamed_attribute(old: str, new: str) -> property:
    def warn() -> None:
        warnings.warn(f"Parser.{old} is now Parser.{new}; the old name goes in 0.3", DeprecationWarning, stacklevel=3)

    def get(self: object) -> object:
        warn()
        return getattr(self, new)

    def set_(self: object, value: object) -> None:
        warn()
        setattr(self, new, value)

    return property(get, set_, doc=f"The old name of `{new}`.")


class OldParserNames:
    """The old names of a parser's attributes."""

    price = _renamed_attribute("price", "f1_threshold")
    certainty = _renamed_attribute("certainty", "calibration")
    forms = _renamed_attribute("forms", "normalization")
    pace = _renamed_attribute("pace", "batching")


def current_calibration_record(record: dict[str, Any]) -> dict[str, Any]:
    """The record of a calibration with current names, also one that version 0.1 wrote."""
    if "curve" not in record:
        return record
    curve = record["curve"]
    beta = {"a": curve["pro"], "b": curve["con"], "c": curve["offset"]}
    others = {name: value for name, value in record.items() if name not in ("curve", "price")}
    return others | {"beta": beta, "f1_threshold": record.get("price", 0.0)}
