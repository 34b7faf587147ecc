"""Matrix functions: Stumpff and phi functions of operators applied to vectors."""

from .action import SecondOrderOperator, phi_action
from .auto import EVALUATORS, evaluate
from .bounds import estimate
from .phi import phi
from .stumpff import StumpffMap, Term, stumpff

__all__ = [
    "EVALUATORS",
    "SecondOrderOperator",
    "StumpffMap",
    "Term",
    "estimate",
    "evaluate",
    "phi",
    "phi_action",
    "stumpff",
]
