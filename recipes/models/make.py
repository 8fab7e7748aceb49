"""Makes models from treebanks, raw text and pretrained encoders, by the steps that this file lists.

    python recipes/models/make.py [--only prepare|train|finish] [--jobs N] MODEL ... [KEY=VALUE ...]

Run it in the folder of the repository, with the treebanks in data/, encoders in encoders/ and, for English,
glove.6B.100d.txt and the packages of raw_text.py in data/packages. KEY=VALUE replaces a setting of all trainings.

Steps that do not need each other run side by side, at most N of them (default: 6). The output of a step goes to
runs/logs/STEP.part, which is renamed to STEP.log when the step has finished; the next call skips it, and a training
that was stopped continues from its last checkpoint. The stages may run on different machines: `prepare` writes all that
training reads to data/, with encoders in few bytes, `train` needs a GPU and writes to runs/ and then the model or its
package in bytes, and `finish` calibrates the model, adds functions, empty elements and the factors of measures, and
scores it for its card.
"""

import argparse
import os
import shlex
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

STAGES = ("prepare", "train", "finish")
LOGS = Path("runs/logs")
VERSION = "0.3.0"  # version that all packages get
COMMANDS = """set -e
treecrf() { "$PYTHON" -m treecrf "$@"; }
python() { "$PYTHON" "$@"; }
"""
TAIL = 15  # lines of the output of a step that failed


class Model(NamedTuple):
    """The settings of a model, by which its steps differ from the steps of other models."""

    family: str  # models with the same prepared data and the same teachers
    prepare: str  # commands
    encoders: tuple[str, ...]  # folders in encoders/
    dev: str  # treebanks whose development parts calibrate
    teachers: Mapping[str, str] = {"1": "train.seed=1", "2": "train.seed=2"}  # settings by name
    teacher_model: str = ""  # another model, which is a teacher of this one, too
    raw: str = ""  # commands that give raw sentences trees; TEACHER is the first teacher
    targets: str = ""  # the recipe whose soft targets all models of the family read
    pack: str = "--weight-step 0.3"  # options of `treecrf pack`
    functions: str = ""  # arguments of train_functions.py
    empties: str = ""  # arguments of train_empties.py
    measures: str = "cp src/treecrf/parser/models/en/measures.json FOLDER"  # FOLDER is the model's
    is_embedded: bool = False

    def encoder_commands(self, arguments: str) -> str:
        """The commands that change all encoders: a verb and two folders."""
        verb, source, target = arguments.split()
        command = f"python recipes/models/encoder_bytes.py {verb}"
        return "".join(f"{command} {source}/{name} {target}/{name}\n" for name in self.encoders)


MINILM = "ms-marco-minilm-l12"
ENGLISH = Model(
    family="en",
    prepare="""
mkdir -p data/constructions data/raw
cp recipes/models/constructions/*.mrg data/constructions
python benchmarks/constructions.py --trees train --count 300 > data/constructions/templates.mrg
python recipes/models/sentences.py data/redwoods/*.mrg.gz > data/raw/redwoods.txt
trees="data/craft/*.gz data/genia/*.gz data/gum/*.gz data/masc/*.gz data/mctb/*.gz data/ptb_sample/*.gz"
python recipes/models/raw_text.py data/packages $trees data/constructions/*.mrg > data/raw/packages.txt
cat data/raw/redwoods.txt data/raw/packages.txt > data/raw/sentences.txt
python recipes/models/word_vectors.py glove.6B.100d.txt data/glove.txt.gz data/raw/sentences.txt $trees
""",
    encoders=("all-mpnet-base-v2", "bert-base-cased", MINILM),
    dev="masc gum genia craft",  # without mctb, whose gold trees are partly random
    teachers={
        "first": f"model.transformer=runs/encoders/{MINILM} train.epochs=6 train.learning_rate=2e-4 "
        "train.head_multiplier=5",  # parses the raw sentences, and its encoder is where the smaller students start
        "cased": "train.seed=3 model.transformer=runs/encoders/bert-base-cased",
    },
    teacher_model="en-xl",
    raw="treecrf parse --resume --model TEACHER --tokens data/raw/sentences.txt -o data/raw/parsed.mrg.gz",
    targets="en",
    pack="--vectors 20000 --weight-step 0.25",
    functions="masc=data/masc/train.full.mrg.gz gum=data/gum/train.full.mrg.gz genia=data/genia/train.full.mrg.gz:4000 "
    "craft=data/craft/train.full.mrg.gz:8000 --dev data/masc/dev.full.mrg.gz --size 192 --epochs 12 --dropout 0.35",
    empties="masc=data/masc/train.full.mrg.gz craft=data/craft/train.full.mrg.gz:1500",
    measures="python benchmarks/measures.py factors data/masc/dev.mrg.gz data/gum/dev.mrg.gz "
    "data/ptb_sample/dev.mrg.gz data/ptb_sample/train.mrg.gz --texts 300 --model FOLDER",
)

ICELANDIC = Model(
    family="is",
    prepare="""
mkdir -p data/constructions
python benchmarks/constructions.py --language is --trees train --count 400 > data/constructions/is.mrg
for name in icepahc farpahc; do
    python recipes/models/running_words.py data/$name/train.mrg.gz data/$name/train_running.mrg.gz
done
python recipes/models/prune_pieces.py encoders/multilingual-e5-small encoders/e5-is data/greynir/train.mrg.gz \\
    data/icepahc/train.mrg.gz data/icepahc/train_running.mrg.gz \\
    data/farpahc/train.mrg.gz data/farpahc/train_running.mrg.gz
""",
    encoders=("e5-is",),
    dev="icepahc greynir",
    functions="icepahc=data/icepahc/train.full.mrg.gz:8000 greynir=data/greynir/train.full.mrg.gz "
    "--dev data/icepahc/dev.full.mrg.gz",
)

CHINESE = Model(
    family="zh",
    prepare="""
python recipes/models/clauses.py data/sinica/train.mrg.gz data/sinica/train_marked.mrg.gz
python recipes/models/characters.py data/sinica/train_marked.mrg.gz data/sinica/train_characters.mrg.gz
python recipes/models/prune_pieces.py --language zh encoders/chinese-bert-base encoders/bert-zh data/sinica/train.mrg.gz
""",
    encoders=("bert-zh",),
    dev="sinica",
    teachers={seed: f"train.seed={seed}" for seed in "123"},
    pack="--weight-step 0.4",
)


def e5_model(name: str, treebanks: str, prepare: str = "") -> Model:
    """A model on multilingual-e5-small with the pieces of some treebanks; the first treebank calibrates."""
    files = " ".join(f"data/{treebank}/train.mrg.gz" for treebank in treebanks.split())
    command = f"python recipes/models/prune_pieces.py --language {name}"
    prune = f"{prepare}\n{command} encoders/multilingual-e5-small encoders/e5-{name} {files}\n"
    return Model(family=name, prepare=prune, encoders=(f"e5-{name}",), dev=treebanks.split()[0])


def templates(name: str) -> str:
    """The command that writes trees of templates."""
    command = f"python benchmarks/constructions.py --language {name} --trees train --count 400"
    return f"mkdir -p data/constructions\n{command} > data/constructions/{name}.mrg"


def with_functions(model: Model, treebank: str) -> Model:
    """The model for a treebank of its family, with its functions."""
    arguments = f"{treebank}=data/{treebank}/train.full.mrg.gz --dev data/{treebank}/dev.full.mrg.gz"
    return model._replace(dev=treebank, functions=arguments)


KEYAKI = "python recipes/models/characters.py data/keyaki/train.mrg.gz data/keyaki/train_characters.mrg.gz"
CESS = e5_model("es", "cess_esp cess_cat", templates("es"))

MODELS = {
    "en": ENGLISH._replace(is_embedded=True),
    "en-large": ENGLISH._replace(pack="--vectors 20000 --weight-step 0.3"),
    "en-xl": ENGLISH._replace(teachers={}, teacher_model="", raw="", targets="", pack="--weight-step 0.25"),
    "en-lstm": ENGLISH._replace(pack="--vectors 20000 --weight-step 0.2", functions="", empties="", is_embedded=True),
    "ca": with_functions(CESS, "cess_cat"),
    "es": with_functions(CESS, "cess_esp"),
    "fo": with_functions(ICELANDIC, "farpahc"),
    "id": e5_model("id", "icon", templates("id")),
    "is": ICELANDIC,
    "ja": with_functions(e5_model("ja", "keyaki", KEYAKI), "keyaki"),
    "pt": e5_model("pt", "floresta"),
    "zh": CHINESE,
}


class Step(NamedTuple):
    """A step of a model or of several models."""

    stage: str
    name: str
    command: str  # for sh
    needs: tuple[str, ...] = ()  # names of other steps

    @property
    def log(self) -> Path:
        return LOGS / f"{self.name}.log"


def training(run: str, recipe: str, settings: str) -> str:
    command = f"treecrf train --resume --no-calibration recipes/models/{recipe}.toml"
    return f"{command} {settings} -o runs/{run}"


def steps_of(name: str, settings: str = "") -> Iterator[Step]:
    """Yields the steps of a model; `settings` replace settings of all recipes."""
    yield from training_steps(name, settings)
    yield from finishing_steps(name, MODELS[name])


def training_steps(name: str, settings: str) -> Iterator[Step]:
    """Yields the steps up to the training of a model; several models may share some of them."""
    model = MODELS[name]
    data, encoders, needs = f"{model.family}-data", f"{model.family}-encoders", []
    yield Step("prepare", data, model.prepare + model.encoder_commands("pack encoders data/encoders"))
    yield Step("train", encoders, model.encoder_commands("unpack data/encoders runs/encoders"), (data,))
    for teacher, differences in model.teachers.items():
        run = f"{model.family}-teacher-{teacher}"
        yield Step("train", run, training(run, f"{model.family}-teacher", f"{differences} {settings}"), (encoders,))
        needs.append(run)
    if model.teacher_model:
        yield from training_steps(model.teacher_model, settings)
        needs.append(model.teacher_model)
    if model.raw:
        needs.append(f"{model.family}-raw")
        yield Step("train", needs[-1], model.raw.replace("TEACHER", f"runs/{needs[0]}"), (needs[0],))
    if model.targets:
        targets = f"{model.family}-targets"
        recipe = f"recipes/models/{model.targets}.toml"
        command = f"python recipes/models/soft_targets.py {recipe} runs/{targets}.safetensors {settings}"
        yield Step("train", targets, command, tuple(needs))
        needs = [targets]
    yield Step("train", name, training(name, name, settings), tuple(needs) or (encoders,))


def finishing_steps(name: str, model: Model) -> Iterator[Step]:
    """Yields the steps after the training, each after the one before."""
    dev = " ".join(f"data/{treebank}/dev.mrg.gz" for treebank in model.dev.split())
    card = f"--card recipes/models/cards/{name}.toml"
    out = folder = f"src/treecrf/parser/models/{name}"
    package = ""
    if not model.is_embedded:
        out, package = f"packages/treecrf-{name}", f"--package --package-version {VERSION}"
        folder = f"{out}/src/treecrf_{name.replace('-', '_')}/{name}"
    packed = f"rm -rf {out}\ntreecrf pack runs/{name} {out} {package} {model.pack} {card} --only-precisions"
    calibrated = f"treecrf calibrate {folder} {dev} --limit 1500 --keep-weights -o {folder}"
    yield Step("train", f"{name}-packed", packed, (name,))
    yield Step("finish", f"{name}-calibrated", calibrated, (f"{name}-packed",))
    before = f"{name}-calibrated"
    for part in ("functions", "empties"):
        if arguments := getattr(model, part):
            command = f"python recipes/models/train_{part}.py {folder} {folder} {arguments}"
            yield Step("finish", f"{name}-{part}", command, (before,))
            before = f"{name}-{part}"
    yield Step("finish", f"{name}-measures", model.measures.replace("FOLDER", folder), (before,))
    before = f"{name}-measures"
    yield Step("finish", f"{name}-card", f"treecrf pack {folder} {card}", (before,))


def start(step: Step) -> subprocess.Popen[bytes]:
    """Starts a step, whose output goes to its log."""
    LOGS.mkdir(parents=True, exist_ok=True)
    print(f"{time.strftime('%T')} {step.name}", flush=True)
    with step.log.with_suffix(".part").open("ab") as log:
        environment = {**os.environ, "PYTHON": sys.executable}
        return subprocess.Popen(["sh", "-c", COMMANDS + step.command], stdout=log, stderr=log, env=environment)


def finish(step: Step, status: int) -> bool:
    """Reports a step that has ended; returns whether it has succeeded."""
    part = step.log.with_suffix(".part")
    if status == 0:
        part.rename(step.log)
        print(f"{time.strftime('%T')} {step.name}: finished", flush=True)
        return True
    lines = part.read_text(encoding="utf-8", errors="replace").splitlines()[-TAIL:]
    print("\n".join([f"{time.strftime('%T')} {step.name}: failed, see {part}", *lines]), flush=True)
    return False


def run(steps: Sequence[Step], jobs: int) -> bool:
    """Runs steps, each after the steps that it needs; returns whether all have succeeded."""
    waiting = [step for step in steps if not step.log.exists()]
    running: dict[Step, subprocess.Popen[bytes]] = {}
    has_failed = False
    while True:
        for step in list(waiting):
            if len(running) < jobs and all((LOGS / f"{name}.log").exists() for name in step.needs):
                waiting.remove(step)
                running[step] = start(step)
        if not running:
            break
        time.sleep(0.2)
        for step, process in list(running.items()):
            if (status := process.poll()) is not None:
                has_failed |= not finish(step, status)
                del running[step]
    for step in waiting:
        missing = [name for name in step.needs if not (LOGS / f"{name}.log").exists()]
        print(f"{step.name}: not started, because {', '.join(missing)} has not finished")
    return not (has_failed or waiting)


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("names", nargs="+", metavar="MODEL or KEY=VALUE")
    arguments.add_argument("--only", choices=STAGES, help="run the steps of one stage")
    arguments.add_argument("--jobs", type=int, default=6)
    options = arguments.parse_intermixed_args()
    settings = shlex.join(name for name in options.names if "=" in name)
    models = [name for name in options.names if "=" not in name]
    if unknown := [name for name in models if name not in MODELS]:
        arguments.error(f"there is no model {unknown[0]}; expected {', '.join(MODELS)}")
    steps = {step.name: step for name in models for step in steps_of(name, settings)}
    chosen = [step for step in steps.values() if options.only in (None, step.stage)]
    sys.exit(not run(chosen, options.jobs))


if __name__ == "__main__":
    main()
