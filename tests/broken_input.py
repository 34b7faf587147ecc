"""What the tests of broken input share: a good scene file, and what a refusal looks like."""

from __future__ import annotations

from stiffly import cli

BODY = """
duration = 1.0
step = 0.01
[[body]]
shape = { kind = "cube", cells = 2, side = 1.0 }
elasticity = "springs"
stiffness = 1e4
mass = 1.0
"""


def refused(capfd, *arguments: str) -> str:
    """The line on stderr, after the command was refused as it should be."""
    code = cli.main([*arguments])
    out, err = capfd.readouterr()
    assert code == 2, (code, out, err)
    assert out == ""
    # on a machine that has never run stiffly, building a scene may say that it compiles
    err = "".join(line for line in err.splitlines(True) if not line.startswith("compiling kernels"))
    assert err.startswith("error: ") and err.endswith("\n") and err.count("\n") == 1
    assert "Traceback" not in err and len(err) < 600
    return err
