"""Matrix functions: Stumpff and phi functions of operators applied to vectors."""

from .action import SecondOrderOperator, phi_action
from .bounds import estimate
from .chooser import EVALUATORS, evaluate
from .phipm import phipm_simul_iom2
from .scalar import StumpffMap, Term, phi, stumpff
from .square_root import square_root

__all__ = [
    "EVALUATORS",
    "SecondOrderOperator",
    "StumpffMap",
    "Term",
    "estimate",
    "evaluate",
    "phi",
    "phi_action",
    "phipm_simul_iom2",
    "square_root",
    "stumpff",
]
