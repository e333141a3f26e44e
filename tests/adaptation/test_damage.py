from __future__ import annotations

import numpy as np
import pytest
from helpers import BACKENDS, ROBOTS, random_solutions, same

import gaits
from gaits.adaptation.damage import Damage, parse_damage
from gaits.physics import world
from gaits.physics.robots import load_robot


def play(task, **options):
    with gaits.LocalEvaluator(task, workers=1) as evaluator:
        return evaluator.evaluate(random_solutions(task, 3, seed=9, scale=1.5), range(3), **options)


def test_motor_strength_scales_torques():
    task = gaits.make_task("qd_half_cheetah")
    weak = parse_damage(["bfoot=0.5", "ffoot=0"]).apply(task)
    assert weak.robot.torques == pytest.approx((108, 81, 27, 126, 54, 0))
    assert weak.robot.friction == ()
    assert task.robot.torques == pytest.approx((108, 81, 54, 126, 54, 27))


def test_damage_adds_up():
    task = gaits.make_task("qd_hopper")
    damage = parse_damage(["leg_joint=0.5"], ["foot=0.5"])
    twice = damage.apply(damage.apply(task))
    assert twice.robot.torques == (75.0, 18.75, 75.0)
    assert twice.robot.friction == (("foot", 0.25),)


def test_a_sound_robot_is_the_same_robot():
    task = gaits.make_task("qd_hopper")
    assert parse_damage(["leg_joint=1"], ["foot=1"]).apply(task) == task
    assert not Damage()
    assert not parse_damage(["leg_joint=1"])
    assert parse_damage([], ["foot=2"])


@pytest.mark.parametrize("name", ROBOTS)
def test_all_backends_agree_under_damage(name, monkeypatch):
    task = gaits.make_task(name, max_steps=100)
    robot = task.robot
    hurt = Damage(((robot.joints[1], 0.2),), ((robot.feet[0], 0.1),)).apply(task)
    results = []
    for backend in BACKENDS:
        monkeypatch.setenv("GAITS_PHYSICS", backend)
        results.append(play(hurt, transitions=True))
    assert same(*results)
    for other in results[1:]:
        np.testing.assert_array_equal(other.transitions.next_obs, results[0].transitions.next_obs)


@pytest.mark.parametrize("damage", [Damage(joints=(("leg_joint", 0.0),)), Damage(friction=(("foot", 0.0),))])
def test_damage_changes_episodes(damage):
    task = gaits.make_task("qd_hopper", max_steps=100)
    assert not same(play(task), play(damage.apply(task)))


def test_in_words():
    damage = parse_damage(["bfoot=0.3", "ffoot=0"], ["bfoot=0.05"])
    assert str(damage) == "bfoot at 30% strength, ffoot limp, bfoot at 5% friction"
    assert str(Damage()) == "no damage"


@pytest.mark.parametrize(
    ("joints", "friction", "message"),
    [
        (
            ["bfot=0.3"],
            [],
            r"No joint of qd_half_cheetah is called 'bfot'. Did you mean 'bfoot'\? Known: bthigh, bshin, bfoot",
        ),
        ([], ["foot=0.3"], r"No foot of qd_half_cheetah is called 'foot'. Did you mean 'ffoot'\? Known: ffoot, fshin"),
        (["bfoot=1.5"], [], "strength of joint bfoot must be a factor from 0 to 1 .*got 1.5"),
        (["bfoot=nan"], [], "got nan"),
        ([], ["bfoot=-1"], "friction of foot bfoot must be a factor of 0 or more .*got -1"),
        (["bfoot=0.1", "bfoot=0.2"], [], "bfoot is given 2 times"),
        (["bfoot"], [], "NAME=FACTOR.*got 'bfoot'"),
        (["bfoot=half"], [], "NAME=FACTOR.*got 'bfoot=half'"),
    ],
)
def test_mistakes(joints, friction, message):
    with pytest.raises(ValueError, match=message):
        parse_damage(joints, friction).apply(gaits.make_task("qd_half_cheetah"))


def test_a_function_has_no_robot_to_damage():
    with pytest.raises(ValueError, match="lp_sphere is a function, not a robot"):
        parse_damage(["bfoot=0"]).apply(gaits.make_task("lp_sphere"))


def test_damages_share_what_is_read_from_the_model():
    """Every position of a slider is another robot; what is kept must not grow with them."""
    task = gaits.make_task("qd_hopper", max_steps=2)
    known = load_robot.cache_info().currsize
    for strength in np.linspace(0, 0.9, 10):
        world.find_layout(Damage({"foot_joint": strength}, {"foot": 1 - strength}).apply(task).robot)
    assert load_robot.cache_info().currsize <= known + 1
    caches = [value for value in vars(world).values() if hasattr(value, "cache_info")]
    assert caches == [load_robot]
