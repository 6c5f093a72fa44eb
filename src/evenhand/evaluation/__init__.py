"""From scores to runs, from runs to comparisons and gates."""

from evenhand.evaluation.comparison import compare, compare_pairs, pairs_to_compare
from evenhand.evaluation.conditions import Condition
from evenhand.evaluation.pipeline import evaluate

__all__ = ["Condition", "compare", "compare_pairs", "evaluate", "pairs_to_compare"]
