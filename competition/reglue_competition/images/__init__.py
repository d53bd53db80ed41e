"""Agents that teams hand in, as archives of strangers: images of containers, and projects."""

from reglue_competition.images.engine_images import forget_image, image_digest, load_image
from reglue_competition.images.keeping import keep_archive, kept_file
from reglue_competition.images.project import is_project, unpack_project
from reglue_competition.images.tar_archive import GIB

__all__ = [
    "GIB",
    "forget_image",
    "image_digest",
    "is_project",
    "keep_archive",
    "kept_file",
    "load_image",
    "unpack_project",
]
