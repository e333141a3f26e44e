"""An episode to look at is the episode that is evaluated, and the robot is drawn where Bullet has it."""

from __future__ import annotations

import numpy as np
import pytest
from helpers import BACKENDS, ROBOTS, random_solutions

import gaits
from gaits.episodes import Batch, Pool, make_job
from gaits.physics import world
from gaits.physics.bullet import capi, scene
from gaits.physics.skeleton import make_skeleton, rotate


def play(task, solution, seed, **options):
    job = make_job(task, Batch([solution], transitions=True, **options), [seed], trace=True)
    pool = Pool(1)
    pool.play(task, job)
    pool.close()
    return job.episode(0)


@pytest.mark.parametrize("name", ROBOTS)
@pytest.mark.parametrize("normalized", [False, True])
def test_it_is_the_episode_that_is_evaluated(name, normalized):
    """To the last bit, also for elites of ME-ES, which come with statistics of their observations."""
    task = gaits.make_task(name, max_steps=120)
    rng = np.random.default_rng(1)
    options = {"obs_mean": rng.normal(size=task.obs_dim), "obs_std": rng.uniform(0.5, 2, task.obs_dim)} if normalized else {}
    with gaits.LocalEvaluator(task, workers=1) as evaluator:
        for seed, solution in enumerate(random_solutions(task, 2, scale=2.0)):
            wanted = evaluator.evaluate([solution], [seed], transitions=True, **options)
            found = play(task, solution, seed, **options)
            assert (found.objective, found.length) == (wanted.objective[0], wanted.length[0])
            np.testing.assert_array_equal(found.measures, wanted.measures[0])
            np.testing.assert_array_equal(found.steps.rewards, wanted.transitions.reward)
            assert len(found.trace.positions) == len(found.trace.contacts) + 1 == found.length + 1
            shares = found.trace.contacts.mean(axis=0)[list(task.robot.measured_feet)]
            np.testing.assert_allclose(shares, wanted.measures[0], rtol=1e-6)


def test_all_backends_record_the_same(monkeypatch):
    task = gaits.make_task("qd_walker", max_steps=40)
    (solution,) = random_solutions(task, 1, scale=2.0)
    found = []
    for backend in BACKENDS:
        monkeypatch.setenv("GAITS_PHYSICS", backend)
        found.append(play(task, solution, 5).trace)
    for other in found[1:]:
        np.testing.assert_array_equal(found[0].positions, other.positions)
        np.testing.assert_array_equal(found[0].contacts, other.contacts)


class Puppet:
    """The robot in a Bullet client of its own, put where an episode had it, and a ball to feel its surface with."""

    RADIUS = 0.01

    def __init__(self, robot) -> None:
        self.p, self.layout = capi.pybullet(), world.find_layout(robot)
        self.client = self.p.connect(self.p.DIRECT)
        self.here = {"physicsClientId": self.client}
        (self.body,) = self.p.loadMJCF(scene.model_path(robot.model), flags=scene.MODEL_FLAGS, **self.here)
        ball = self.p.createCollisionShape(self.p.GEOM_SPHERE, radius=self.RADIUS, **self.here)
        self.ball = self.p.createMultiBody(0, ball, **self.here)

    def pose(self, positions) -> None:
        self.p.resetBasePositionAndOrientation(self.body, positions[:3], positions[3:7], **self.here)
        for joint, place in zip(self.layout.moving, self.layout.q_index, strict=True):
            self.p.resetJointState(self.body, joint, positions[place], **self.here)

    def link(self, link):
        return self.p.getLinkState(self.body, link, computeForwardKinematics=1, **self.here)[:2]

    def distance(self, link, point) -> float:
        self.p.resetBasePositionAndOrientation(self.ball, point, (0, 0, 0, 1), **self.here)
        points = self.p.getClosestPoints(self.body, self.ball, 5.0, linkIndexA=link, **self.here)
        return min(found[8] for found in points) + self.RADIUS


@pytest.mark.parametrize("name", ROBOTS)
def test_the_robot_is_drawn_where_bullet_has_it(name):
    """Poses of all links, and the distance of random points to the capsules, are Bullet's."""
    task = gaits.make_task(name, max_steps=30)
    positions = play(task, random_solutions(task, 1, scale=2.0)[0], 3).trace.positions
    skeleton, puppet, rng = make_skeleton(task.robot), Puppet(task.robot), np.random.default_rng(0)
    puppet.pose(positions[-1])
    poses, ends = skeleton.poses(positions)[-1], skeleton.ends(positions)[-1]
    for link in range(len(skeleton.joints)):
        position, turn = puppet.link(link)
        np.testing.assert_allclose(poses[1 + link, :3], position, atol=1e-9)
        assert abs(poses[1 + link, 3:] @ np.array(turn)) == pytest.approx(1)  # q and -q are the same turn
    for link in {capsule.link for capsule in skeleton.capsules}:
        own = [i for i, capsule in enumerate(skeleton.capsules) if capsule.link == link]
        for _ in range(5):
            point = ends[own[0]].mean(axis=0) + rng.normal(size=3)
            wanted = min(to_line(point, *ends[i]) - skeleton.capsules[i].radius for i in own)
            # Bullet pads the lower arms of the humanoid, where a capsule and a ball share a link, by up to 15 mm.
            tolerance = 0.02 if name == "qd_humanoid" and len(own) == 2 else 1e-5
            if wanted > 0.05:
                assert puppet.distance(link, point) == pytest.approx(wanted, abs=tolerance)
    puppet.p.disconnect(puppet.client)


def to_line(point, start, end) -> float:
    along = end - start
    share = np.clip((point - start) @ along / max(along @ along, 1e-12), 0, 1)
    return float(np.linalg.norm(point - start - share * along))


def test_rotate():
    quarter = np.array([0, 0, np.sqrt(0.5), np.sqrt(0.5)])
    np.testing.assert_allclose(rotate(quarter, np.array([[1.0, 0, 0], [0, 0, 2]])), [[0, 1, 0], [0, 0, 2]], atol=1e-12)
