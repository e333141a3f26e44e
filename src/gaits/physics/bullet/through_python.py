"""The same simulator through the pybullet module, for platforms whose pybullet hides Bullet's C API."""

from __future__ import annotations

import numpy as np

from gaits.episodes import NON_FINITE, TRUNCATED, Episode, Setup
from gaits.physics import world
from gaits.physics.bullet import capi, scene
from gaits.physics.bullet.kernel import LIFT_HEIGHT
from gaits.physics.policy import Actor
from gaits.physics.walking import SECONDS_PER_STEP, begin, judge, make_states, take_state
from gaits.tasks.task import Task


class ModuleSimulator:
    """One robot on one floor, one module call per joint, link and foot. The arithmetic is the kernel's."""

    def __init__(self, task: Task) -> None:
        self.task = task
        self.actor = Actor(task.policy.sizes)
        self.recorder = world.Recorder(task)
        self.p = capi.pybullet()
        self._build()

    def _build(self) -> None:
        p = self.p
        self.client = p.connect(p.DIRECT)
        if self.client < 0:
            raise OSError("pybullet has no free physics client: close other evaluators and environments.")
        self.here = here = {"physicsClientId": self.client}
        p.resetSimulation(**here)
        p.setPhysicsEngineParameter(deterministicOverlappingPairs=1, **here)
        p.setGravity(0, 0, scene.GRAVITY, **here)
        p.setDefaultContactERP(scene.CONTACT_ERP, **here)
        p.setPhysicsEngineParameter(
            fixedTimeStep=SECONDS_PER_STEP,
            numSubSteps=scene.SUBSTEPS,
            numSolverIterations=scene.SOLVER_ITERATIONS,
            **here,
        )
        (floor,) = p.loadSDF(scene.floor_path(), **here)
        p.changeDynamics(floor, -1, lateralFriction=scene.FLOOR_FRICTION, restitution=scene.FLOOR_RESTITUTION, **here)
        (body,) = p.loadMJCF(scene.model_path(self.task.robot.model), flags=scene.MODEL_FLAGS, **here)
        layout = world.find_layout(self.task.robot)
        for link, friction in layout.changed_friction:
            p.changeDynamics(body, link, lateralFriction=friction, **here)
        gain = scene.MOTOR_GAIN
        for joint in layout.moving:
            p.setJointMotorControl2(body, joint, p.POSITION_CONTROL, positionGain=gain, velocityGain=gain, force=0, **here)
        self.moving = layout.moving
        self.joints = [layout.moving[i] for i in layout.actuated]
        self.ids = scene.find_ids(layout, body, floor)
        self.body = world.make_body(self.task.robot)
        self.state = take_state(make_states(self.body, 1), 0)
        self.saved = p.saveState(**here)

    def reset(self, q0: np.ndarray) -> None:
        # See kernel.reset_bullet: lifting the robot makes Bullet forget the last episode's contact points.
        self.p.resetBasePositionAndOrientation(self.ids.body, (0, 0, LIFT_HEIGHT), (0, 0, 0, 1), **self.here)
        for joint in self.moving:
            self.p.resetJointState(self.ids.body, joint, 0.0, **self.here)
        self.p.performCollisionDetection(**self.here)

        self.p.restoreState(self.saved, **self.here)
        for joint, angle in zip(self.joints, q0, strict=True):
            self.p.resetJointState(self.ids.body, joint, angle, 0.0, **self.here)
        self._read()
        begin(self.body, self.state)

    def step(self, action: np.ndarray) -> tuple[float, int]:
        if not np.isfinite(action).all():
            return 0.0, NON_FINITE
        torques = self.body.torques * np.clip(action.astype(np.float64), -1.0, 1.0)
        for joint, torque in zip(self.joints, torques, strict=True):
            self.p.setJointMotorControl2(self.ids.body, joint, self.p.TORQUE_CONTROL, force=torque, **self.here)
        self.p.stepSimulation(**self.here)
        self._read()
        reward, end = judge(self.body, self.state, action)
        if end == NON_FINITE:
            self.close()
            self._build()
        return reward, end

    def _read(self) -> None:
        p, here, ids, body, state = self.p, self.here, self.ids, self.body, self.state
        for j, joint in enumerate(self.joints):
            state.q[j], state.qd[j] = p.getJointState(ids.body, joint, **here)[:2]
        base = p.getBasePositionAndOrientation(ids.body, **here)
        if body.torso < 0:
            state.torso[:3], state.torso[3:7] = base
            state.torso[7:] = p.getBaseVelocity(ids.body, **here)[0]
        else:
            link = p.getLinkState(ids.body, body.torso, computeLinkVelocity=1, **here)
            state.torso[:3], state.torso[3:7], velocity = link[0], link[1], link[6]
            state.torso[7:] = velocity[0], link[7][2], velocity[2]  # QDGym's slip: angular velocity about z for vy
        for i, part in enumerate(body.parts):
            place = p.getLinkState(ids.body, part, **here)[0] if part >= 0 else base[0] if part == -1 else (0.0, 0.0)
            state.parts_x[i], state.parts_y[i] = place[:2]
        for f, foot in enumerate(body.feet):
            state.touching[f] = len(p.getContactPoints(ids.body, ids.floor, foot, **here)) > 0

    def rollout(self, setup: Setup, q0: np.ndarray) -> Episode:
        self.actor.take(setup.solution)
        obs, actions, rewards = self.recorder.arrays(setup.record)
        trace = world.make_trace(self.task, setup.trace)
        touched = np.zeros(self.body.n_feet)
        objective, length, end = 0.0, 0, TRUNCATED

        self.reset(q0)
        obs[0] = self.state.obs
        if setup.trace:
            self._write_positions(trace.positions[0])
        while length < self.task.max_steps and end == TRUNCATED:
            state = self.state
            action = self.actor.act(state.obs, setup.obs_mean, setup.obs_std)
            if length < len(setup.action_noise):
                action += setup.action_noise[length]
            reward, end = self.step(action)
            if end == NON_FINITE:
                break
            if setup.record:
                actions[length], rewards[length], obs[length + 1] = action, reward, state.obs
            if setup.trace:
                self._write_positions(trace.positions[length + 1])
                trace.contacts[length] = state.contact
            objective += reward
            touched += state.contact
            length += 1
        measures = touched[self.body.measured_feet] / max(length, 1)
        drawn = world.cut_trace(trace, length) if setup.trace else None
        return Episode(objective, measures, length, end, self.recorder.copy(setup.record, length), drawn)

    def _write_positions(self, out: np.ndarray) -> None:
        out[:7], out[self.ids.all_q_index] = self.pose()

    def pose(self) -> tuple[np.ndarray, np.ndarray]:
        base = np.concatenate(self.p.getBasePositionAndOrientation(self.ids.body, **self.here))
        return base, np.array([self.p.getJointState(self.ids.body, joint, **self.here)[0] for joint in self.moving])

    def close(self) -> None:
        if self.client >= 0:
            self.p.disconnect(self.client)
            self.client = -1
