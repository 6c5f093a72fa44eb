"""Twins: the same sentence about somebody of the other gender. Each language has a folder behind ``Swapper``."""

from evenhand.text.twins.languages import SWAPPERS, swapper_for
from evenhand.text.twins.twin import Rejected, Role, Swap, Swapper, Twin

__all__ = ["SWAPPERS", "Rejected", "Role", "Swap", "Swapper", "Twin", "swapper_for"]
