"""Moving a system through time: simulate, the loop over frames, step control, the books.

For a time loop of one's own: a Stepper takes single steps, with a Balance of their energy and a
StepLog of what they say about themselves, within `quiet`.
"""

from ..recording.notes import StepLog
from .ledger import Balance
from .stepper import Stepper, quiet

__all__ = ["Balance", "StepLog", "Stepper", "quiet"]
