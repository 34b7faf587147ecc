"""Draws demo.png, the middle frame of the demo's two runs side by side.

stiffly demo && python docs/images/demo.py [FOLDER]
"""

import sys
from pathlib import Path

from stiffly import Recording
from stiffly.recording.render import side_by_side

if __name__ == "__main__":
    folder = Path(sys.argv[1] if len(sys.argv) > 1 else "stiffly-demo")
    runs = [Recording(folder / name) for name in ("exprb42", "bdf1")]
    middle = len(runs[0].times) // 2
    side_by_side(runs, Path(__file__).with_name("demo.png"), frame=middle, size=(1100, 520))
