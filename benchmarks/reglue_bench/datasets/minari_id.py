"""The folder in which Minari finds datasets by name."""

from __future__ import annotations

from pathlib import Path

from reglue.errors import UsageError
from reglue_bench.datasets.source import check_extra


def check_id(name: str) -> str | None:
    """The namespace of a dataset's name, if it has one. Raises UsageError."""
    check_extra()
    from minari.dataset.minari_dataset import parse_dataset_id

    try:
        space: str | None = parse_dataset_id(name)[0]
    except (ValueError, TypeError) as error:  # TypeError: without a version
        raise UsageError(
            got=f"--id {name!r}",
            wanted=(
                "a name such as mine/expert-v0: letters, digits, - and _, and a version at its end"
            ),
        ) from error
    return space


def folder_of_id(name: str) -> Path:
    """The folder of a dataset in Minari's own, whose namespace is made. Raises UsageError."""
    space = check_id(name)
    from minari import namespace
    from minari.storage.datasets_root_dir import get_dataset_path

    folder = Path(get_dataset_path(name))
    if folder.exists():
        raise UsageError(
            f"there is a dataset {name} already, {folder}; choose another version, or remove it by "
            f"`minari delete {name}`"
        )
    if space is not None and space not in namespace.list_local_namespaces():
        namespace.create_namespace(space)
    return folder
