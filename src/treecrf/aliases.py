"""Names of version 0.1 that still work in 0.2, with a DeprecationWarning; 0.3 removes them.

Old import paths (`treecrf.cnf`), old settings in TOML files (`forms`) and old attributes of parsers (`parser.price`).
"""

import sys
import warnings
from collections.abc import Callable, Collection, Mapping, Sequence
from importlib import import_module
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType

MODULES = {
    "treecrf.analysis": "treecrf.decoding.analysis",
    "treecrf.brackets": "treecrf.treebank.bracket_writer",
    "treecrf.card": "treecrf.export.model_card",
    "treecrf.certainty": "treecrf.decoding.beta_calibration",
    "treecrf.checkpoint": "treecrf.atomic_io",
    "treecrf.cnf": "treecrf.treebank.binarize",
    "treecrf.constraints": "treecrf.decoding.constraints",
    "treecrf.corpora": "treecrf.treebank.releases",
    "treecrf.draw": "treecrf.viz",
    "treecrf.encode": "treecrf.data",
    "treecrf.exam": "treecrf.parser.evaluate",
    "treecrf.experiments": "treecrf.reproduce",
    "treecrf.folder": "treecrf.parser.storage",
    "treecrf.forms": "treecrf.text.normalization",
    "treecrf.nltk_parser": "treecrf.integrations.nltk",
    "treecrf.packing": "treecrf.export.pack",
    "treecrf.ray_engine": "treecrf.bulk.ray_engine",
    "treecrf.render": "treecrf.parser.formats",
    "treecrf.spacy_component": "treecrf.integrations.spacy",
    "treecrf.spacy_extensions": "treecrf.integrations.spacy_extensions",
    "treecrf.train": "treecrf.training",
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


class _OldModules(MetaPathFinder, Loader):
    """Imports a module by its old name."""

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        return ModuleSpec(name, self) if name in MODULES else None

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        new = MODULES[spec.name]
        warnings.warn(f"{spec.name} is now {new}; the old name goes in 0.3", DeprecationWarning, stacklevel=2)
        return import_module(new)

    def exec_module(self, module: ModuleType) -> None:
        """The module has already been executed under its new name."""


def install_old_modules() -> None:
    """Makes the old import paths work."""
    if not any(isinstance(finder, _OldModules) for finder in sys.meta_path):
        sys.meta_path.append(_OldModules())


def old_names(module: str, names: Mapping[str, str]) -> Callable[[str], object]:
    """Returns a `__getattr__` for a module, which finds its renamed attributes by their old names."""

    def getattr_(name: str) -> object:
        if name not in names:
            raise AttributeError(f"module {module!r} has no attribute {name!r}")
        new = names[name]
        warnings.warn(f"{module}.{name} is now {new}; the old name goes in 0.3", DeprecationWarning, stacklevel=2)
        return getattr(sys.modules[module], new)

    return getattr_


def current_setting(name: str, known: Collection[str]) -> str:
    """The current name of a setting, given as `section.setting`, if only its old name is used."""
    section, dot, key = name.rpartition(".")
    new = f"{section}{dot}{SETTINGS.get(key, key)}"
    if name in known or new not in known or new == name:
        return name
    warnings.warn(f"the setting '{name}' is now '{new}'; the old name goes in 0.3", DeprecationWarning, stacklevel=2)
    return new


def _renamed(old: str, new: str) -> property:
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

    price = _renamed("price", "f1_threshold")
    certainty = _renamed("certainty", "calibration")
    forms = _renamed("forms", "normalization")
    pace = _renamed("pace", "batching")
