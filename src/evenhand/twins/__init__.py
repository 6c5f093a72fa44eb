"""Twins: the same sentence about somebody of the other gender. Each language has a folder behind ``Swapper``."""

from evenhand.text.swappers import SWAPPERS, Rejected, Role, Swap, Swapper, Twin, swapper_for

__all__ = ["SWAPPERS", "Rejected", "Role", "Swap", "Swapper", "Twin", "swapper_for"]
