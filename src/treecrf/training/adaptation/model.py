"""The folder of an adapted parser: the model, its card, and the factors that belong to its base."""

import json
import shutil
from dataclasses import replace
from pathlib import Path

from treecrf.files import write_file
from treecrf.parser.models.model_card import ADAPTATION_JSON, CARD_JSON, ModelCard, model_bytes
from treecrf.parser.storage import save_parser_state
from treecrf.training.adaptation.adapt import Adaptation
from treecrf.training.export.card_files import save_card, unmeasured_card, unstated_treebank
from treecrf.training.export.pack import source_commit
from treecrf.training.export.package import copy_model

_KEPT_FILES = ("measures.json",)  # files of the base about text, not about weights


def save_adaptation(adaptation: Adaptation, folder: Path) -> None:
    """Writes the adapted parser with a card that names its base and its trees, or the base if that is better."""
    base = adaptation.base.folder
    if not adaptation.is_kept and base is not None:
        folder.mkdir(parents=True, exist_ok=True)
        copy_model(base, folder)
        _save_record(adaptation, folder)
        return
    save_parser_state(folder, adaptation.parser.state())
    for name in _KEPT_FILES:
        if base is not None and (base / name).is_file():
            shutil.copyfile(base / name, folder / name)
    save_card(_card(adaptation, folder), folder)
    _save_record(adaptation, folder)


def _save_record(adaptation: Adaptation, folder: Path) -> None:
    """Writes the verdict, after all other files: whoever finds it finds a complete model."""
    gains = {name: measure._asdict() for name, measure in adaptation.gains.items()}
    others = None if adaptation.others is None else adaptation.others._asdict()
    record = {"kept": adaptation.is_kept, "verdict": adaptation.verdict, "epoch": adaptation.epoch}
    write_file(folder / ADAPTATION_JSON, json.dumps({**record, "gains": gains, "others": others}, indent=1).encode())


def _card(adaptation: Adaptation, folder: Path) -> ModelCard:
    parser, base = adaptation.parser, adaptation.base.folder
    if base is not None and (base / CARD_JSON).is_file():
        card = ModelCard.load(base)
    else:
        card = unmeasured_card(folder, parser.vocabulary.labels, parser.vocabulary.tags)
    base_name, sentences = base.name if base is not None else "a parser", len(adaptation.corrections)
    names = ", ".join(source.name for source in adaptation.corrections.sources) or "trees in memory"
    gain = adaptation.gains["brackets"]
    summary = (
        f"The model {base_name}, adapted to {sentences} corrected sentences ({names}). On sentences that were left out "
        f"of the training, brackets have F {gain}. {card.purpose.summary}"
    )
    purpose = replace(card.purpose, summary=summary, tests=(), speeds=())
    added = replace(unstated_treebank(names), title=f"{sentences} corrected sentences")
    adapted = {"base": base_name, "files": names, "sentences": sentences, "epochs": adaptation.epoch}
    table = "".join(f"{name} = {json.dumps(value, ensure_ascii=False)}\n" for name, value in adapted.items())
    return replace(
        card,
        name=folder.name,
        purpose=purpose,
        commit=source_commit(),
        size=model_bytes(folder),
        data=(*card.data, added),
        scores=(),
        well_formedness=(),
        calibration=(),
        speed=None,
        recipe=f"{card.recipe.rstrip()}\n\n[adaptation]\n{table}".lstrip(),
    )
