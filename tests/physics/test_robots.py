"""The robots that ship are what Bullet makes of their model files."""

from __future__ import annotations

import dataclasses
import runpy
from pathlib import Path

import pytest
from helpers import ROBOTS

import gaits
from gaits.physics import world
from gaits.physics.bullet import capi, scene
from gaits.physics.robots import BASE, FIXED, MODELS, REVOLUTE, load_robot

TOOL = Path(__file__).parents[2] / "tools" / "make_robots.py"


def test_the_shipped_files_are_those_that_the_tool_makes(tmp_path):
    pytest.importorskip("pybullet")
    tool = runpy.run_path(str(TOOL))
    tool["main"](tmp_path)
    made = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    assert made == {path.name: path.read_bytes() for path in tool["SHIPPED"].glob("*.json")}
    assert set(made) == {f"{name}.json" for name in MODELS}


@pytest.mark.parametrize("name", MODELS)
def test_a_file_reads_back_as_the_robot_it_was_made_of(name):
    tool, robot = runpy.run_path(str(TOOL)), load_robot(name)
    text = tool["format_robot"](robot)
    assert text.encode() == (tool["SHIPPED"] / f"{name}.json").read_bytes()
    assert hash(robot) == hash(dataclasses.replace(robot))  # tuples all the way down
    assert load_robot(name) is robot


@pytest.mark.parametrize("name", MODELS)
def test_links_are_in_an_order_that_one_pass_can_follow(name):
    robot = load_robot(name)
    assert all(BASE <= link.parent < index for index, link in enumerate(robot.links))
    assert [robot.links[index].dof for index in robot.moving] == list(range(len(robot.moving)))
    assert all((link.dof >= 0) == (link.kind != FIXED) for link in robot.links)
    assert [collider.link for collider in robot.colliders] == sorted({collider.link for collider in robot.colliders})


# ENGINE 6.4: Bullet sorts rows of equal rank with a quicksort that is not stable.
LIMIT_ORDERS = {
    "hopper": (6, 4, 8),
    "walker": (8, 6, 4, 10, 14, 12),
    "half_cheetah": (8, 6, 4, 10, 14, 12),
    "ant": (6, 8, 1, 3, 16, 18, 11, 13),
    "humanoid": (7, 6, 12, 9, 1, 0, 5, 3, 13, 24, 22, 27, 25, 16, 14, 20, 19),
}


@pytest.mark.parametrize("name", MODELS)
def test_every_limit_has_its_place_in_the_solvers_order(name):
    robot = load_robot(name)
    assert robot.limit_order == LIMIT_ORDERS[name]
    limited = {i for i, link in enumerate(robot.links) if link.kind == REVOLUTE and link.lower <= link.upper}
    assert set(robot.limit_order) == limited


def test_only_the_humanoid_can_touch_itself():
    assert {name: len(load_robot(name).self_pairs) for name in MODELS if load_robot(name).self_pairs} == {"humanoid": 45}


@pytest.mark.parametrize("name", ROBOTS)
def test_the_layout_is_bullets(name):
    """What a client of Bullet says of the model, asked anew."""
    pytest.importorskip("pybullet")
    task = gaits.make_task(name)
    robot = gaits.Damage(friction=dict.fromkeys(task.robot.feet, 0.3)).apply(task).robot
    layout, p = world.find_layout(robot), capi.pybullet()
    client = p.connect(p.DIRECT)
    here = {"physicsClientId": client}
    (body,) = p.loadMJCF(scene.model_path(robot.model), flags=scene.MODEL_FLAGS, **here)
    infos = [p.getJointInfo(body, link, **here) for link in range(p.getNumJoints(body, **here))]
    frictions = [p.getDynamicsInfo(body, link, **here)[1] for link in range(len(infos))]
    p.disconnect(client)
    moving = [info for info in infos if info[3] >= 0]
    assert layout.links == tuple(info[12].decode() for info in infos)
    assert list(zip(layout.moving, layout.q_index, layout.u_index, strict=True)) == [(i[0], i[3], i[4]) for i in moving]
    assert [moving[i][1].decode() for i in layout.actuated] == list(robot.joints)
    assert [moving[i][8:10] for i in layout.actuated] == list(layout.limits)
    links = [layout.links.index(foot) for foot in robot.feet]
    assert layout.changed_friction == tuple((link, 0.3 * frictions[link]) for link in links)


def test_an_unknown_robot_is_told_from_the_known_ones():
    with pytest.raises(ValueError, match=r"No robot is called 'walker2d.xml'. Did you mean 'walker'\? Known: ant, "):
        load_robot("walker2d.xml")
