"""The texts of reports, model cards and packages, from the templates in `templates`."""

from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from treecrf.config import toml_literal

_ENVIRONMENT = Environment(  # not HTML, which would need escapes
    loader=FileSystemLoader(Path(__file__).parent / "templates"),
    undefined=StrictUndefined,
    trim_blocks=True,
    lstrip_blocks=True,
    keep_trailing_newline=True,
)
_ENVIRONMENT.filters |= {
    "cell": lambda text: text.replace("|", "\\|"),
    "code": lambda name: f"`` {name} ``" if "`" in name else f"`{name}`",
    "decimals": lambda number, digits, sign="": f"{number:{sign}.{digits}f}",
    "interval": lambda limits, sign="": " to ".join(f"{limit:{sign}.2f}" for limit in limits),
    "thousands": lambda number: f"{number:,}",
    "toml": toml_literal,
}


def render(template: str, **values: object) -> str:
    """Returns the text of a template, without the blank lines at its end."""
    return _ENVIRONMENT.get_template(template).render(values).rstrip("\n") + "\n"
