"""Errors that end a command, and their messages."""


class OptionError(ValueError):
    """An option with a value that it cannot have. The command ends with status 2, as for an unknown option."""


def describe_error(error: Exception) -> str:
    """The message of an error in one line. That of an error of the operating system names the file."""
    if isinstance(error, ModuleNotFoundError) and error.name == "torch":
        return "this needs PyTorch: pip install 'treecrf[torch]'"
    path = getattr(error, "filename", None)
    if path is None or error.__class__.__module__ != "builtins":
        return str(error)
    if isinstance(error, FileNotFoundError):
        return f"there is no file or folder {path}; check the path, which is relative to the current folder"
    if isinstance(error, PermissionError):
        return f"no permission to read or write {path}"
    if isinstance(error, IsADirectoryError):
        return f"{path} is a folder; expected a file"
    if isinstance(error, NotADirectoryError):
        return f"{path} is inside a file; expected a path whose parts are folders"
    return str(error)
