"""What a scene file may say: one pydantic model for every table of it."""

from .scene_file import Output, SceneFile

__all__ = ["Output", "SceneFile"]
