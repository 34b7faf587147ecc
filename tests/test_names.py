"""Methods by name: options behind colons, wherever a name is written, and what is wrong there."""

import json
from functools import partial

import numpy as np
import pytest

import stiffly
from stiffly import cli
from stiffly.errors import InputError
from stiffly.integrators import (
    NAMES,
    Bdf2,
    ExponentialRosenbrock,
    Gautschi,
    LocalGlobal,
    Midpoint,
    Neti,
    Stabilised,
    entries,
    integrator,
    variants,
)
from stiffly.recording.checkpoint import Packed, unpacked

MEANT = {
    "eti:deuflhard": Gautschi(filter="deuflhard"),
    "eti:gautschi:two-step": Gautschi(filter="gautschi", form="two-step"),
    "eti:two-step:gautschi": Gautschi(filter="gautschi", form="two-step"),
    "eti:rest": Gautschi(reference="rest"),
    "ceti:grimm-hochbruck": Neti(filter="grimm-hochbruck", linearisation="corotated"),
    "neti:hairer-lubich": Neti(filter="hairer-lubich"),
    "neti:two-step:argument-filter": Neti(form="two-step", argument_filter=True),
    "neti:secant:two-step": Neti(form="two-step", linearisation="secant"),
    "pexprb43": ExponentialRosenbrock((1 / 3, 3 / 4)),
    "pexprb43:1/2,1": ExponentialRosenbrock((0.5, 1.0)),
    "pexprb43:1/8,1/9": integrator("epirk4s3"),
    "pexprb43:0.25,1e-1": ExponentialRosenbrock((0.25, 0.1)),
    "projective-bdf2": Bdf2(solver=LocalGlobal()),
    "stabilised:no-spin": Stabilised(spin=False),
    "stabilised:no-spin:projective-midpoint": Stabilised(
        Midpoint(solver=LocalGlobal()), spin=False
    ),
    "stabilised:eti:deuflhard:two-step": Stabilised(Gautschi("deuflhard", "two-step")),
    "stabilised:pexprb43:1/2,1": Stabilised(ExponentialRosenbrock((0.5, 1.0))),
}


@pytest.mark.parametrize("name", MEANT)
def test_options_behind_a_name_mean_fields(name):
    assert integrator(name) == MEANT[name]


WRONG = {
    "eti:deuflhart": "unknown option of eti: deuflhart: did you mean deuflhard?",
    "eti:xyz": "choose one of deuflhard, garcia-archilla, gautschi, grimm-hochbruck, hairer-lubich,"
    " hochbruck-lubich, rest, two-step",
    "eti:": "unknown option of eti: ''",
    "eti:gautschi": "use form='two-step' (eti:gautschi:two-step)",
    "eti:deuflhard:gautschi": "says its filter twice",
    "neti:two-step:two-step": "says its form twice",
    "neti:argument-filter": "use neti:two-step:argument-filter",
    "neti:deuflhard:two-step": "use filter='gautschi' (neti:gautschi:two-step), or form='one-step'",
    "ceti:secant": "unknown option of ceti: secant: choose one of deuflhard",
    "pexprb43:0,1": "two numbers in (0, 1]: try",
    "pexprb43:1/2,3/2": "two numbers in (0, 1]: try",
    "pexprb43:nan,1": "two numbers in (0, 1]: try",
    "pexprb43:1/2,1/2": "coincide: choose two different ones",
    "pexprb43:1e-200,1": "weights without bound",
    "pexprb43:1/2": "1/2 is no pair of nodes: give c2,c3 in (0, 1], such as pexprb43:1/2,1",
    "pexprb43:1/0,1": "no pair of nodes",
    "pexprb43:a,b": "no pair of nodes",
    "pexprb43:1/2,1,3/4": "no pair of nodes",
    "pexprb43:1/2,1:1/3,1": "says its nodes twice",
    "pexprb43:": "nothing is no pair of nodes",
    "verlet:two-step": "verlet has no options: leave :two-step out",
    "exprb42:3/4": "exprb42 has no options: leave :3/4 out",
    "auto:eti": "auto has no options",
    "stabilised:no-spn": "did you mean no-spin?",
    "stabilised:midpont": "did you mean midpoint?",
    "stabilised:no-spin:no-spin": "says its spin twice",
    "stabilised:no-spin:eti:deuflhart": "did you mean deuflhard?",
    "stabilised:stabilised": "the base is stabilised already",
    "etii:deuflhard": "unknown integrator etii: did you mean eti?",
    ":eti": "unknown integrator ''",
}


@pytest.mark.parametrize("name", WRONG)
def test_what_is_wrong_with_a_name_is_said_in_one_line(name):
    with pytest.raises(InputError) as caught:
        integrator(name)
    assert WRONG[name] in str(caught.value) and "\n" not in str(caught.value)


def test_every_option_is_listed_once_and_none_of_them_is_the_default():
    listed, told = list(variants()), {entry.name: entry.options for entry in entries()}
    assert len(set(listed)) == len(listed) and list(told) == list(NAMES)
    for head, own in told.items():
        shown = {word for v in listed if v.split(":")[0] == head for word in v.split(":")[1:]}
        assert set(own) - {"garcia-archilla", "NAME", "c2,c3"} == shown - {"1/2,1"}, head
    assert all(integrator(v) != integrator(v.split(":")[0]) for v in listed)
    assert "pexprb43:1/2,1" in listed


@pytest.mark.parametrize("name", ["eti:gautschi:two-step", "neti:secant:two-step:argument-filter"])
def test_a_method_knows_its_name(name):
    assert integrator(integrator(name).name) == integrator(name)


# ------------------------------------------------------------------ wherever a name is written


def test_methods_lists_what_names_may_carry(capfd):
    assert cli.main(["methods", "--json"]) == 0
    told = {row["name"]: row for row in json.loads(capfd.readouterr().out)}
    assert told["eti"]["order"] == 2 and "deuflhard" in told["eti"]["options"]
    assert cli.main(["methods"]) == 0
    assert "argument-filter" in capfd.readouterr().out


@pytest.mark.parametrize("name", ["pexprb43:1/2,1", "eti:gautschi:two-step", "stabilised:no-spin"])
def test_names_with_options_run_resume_and_are_found_again(name, tmp_path, capfd):
    """On the command line, in the scene file that it writes, and from a checkpoint: same bits."""
    options = ["--integrator", name, "--step", "0.02", "--every", "0.1", "--quiet"]
    run = partial(cli.main, ["run", "pylon", "--small", *options, "--duration", "0.4", "--out"])
    assert cli.main([*run.args[0], str(tmp_path / "whole")]) == 0
    written = tmp_path / "whole" / "scene.toml"
    assert f'integrator = "{name}"' in written.read_text()
    assert cli.main(["run", str(written), "--quiet", "--out", str(tmp_path / "again")]) == 0
    short = ["run", "pylon", "--small", *options, "--duration", "0.2", "--out"]
    assert cli.main([*short, str(tmp_path / "short")]) == 0
    assert cli.main(["resume", str(tmp_path / "short"), "--duration", "0.4", "--quiet"]) == 0
    whole, again, longer = (stiffly.Recording(tmp_path / n) for n in ("whole", "again", "short"))
    assert whole.integrator == again.integrator == longer.integrator == name
    for other in (again, longer):
        np.testing.assert_array_equal(other.positions[:], whole.positions[:])


def test_a_wrong_name_is_refused_on_the_command_line_and_in_files(tmp_path, capfd):
    assert cli.main(["run", "pylon", "--small", "--integrator", "eti:deuflhart"]) == 2
    assert "did you mean deuflhard?" in capfd.readouterr().err
    file = tmp_path / "scene.toml"
    file.write_text('scene = "pylon"\nintegrator = "pexprb43:0,1"\n')
    assert cli.main(["scene", "check", str(file)]) == 2
    err = capfd.readouterr().err
    assert "(0, 1]" in err and len(err.strip().splitlines()) == 1


@pytest.mark.parametrize("name", [*NAMES, *variants()])
def test_checkpoints_hold_the_method(name):
    method = integrator(name)
    packed = Packed(method)
    assert unpacked(json.loads(json.dumps(packed.code)), packed.arrays) == method
