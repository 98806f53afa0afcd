"""The word for pictures that were copied, not drawn: who counts them need not import the stage."""

from typing import Final

COPYING: Final = "copied"
