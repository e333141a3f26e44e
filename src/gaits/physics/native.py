"""A simulator in compiled code, on Bullet's C API."""

from __future__ import annotations

import numpy as np

from gaits.console import say_if_slow
from gaits.episodes import NON_FINITE, Episode, Setup
from gaits.physics import capi, kernel, world
from gaits.tasks.task import Task

POSITION_CONTROL = 2


class NativeSimulator:
    """One robot on one floor in a client of its own. Not to be shared between threads; any number may run at once."""

    def __init__(self, task: Task) -> None:
        self.task = task
        self.sizes = np.array(task.policy.sizes)
        self.recorder = world.Recorder(task)
        self.no_trace = world.make_trace(task, wanted=False)
        self._build()
        if not kernel.rollout.signatures:
            with say_if_slow("compiling the physics, once per machine (about 15 seconds)", 4.0):
                self._warm_up()

    def _build(self) -> None:
        self.client = client = capi.Client()
        client.run("InitResetSimulationCommand", InitResetSimulationSetFlags=0)
        client.run("InitPhysicsParamCommand", PhysicsParameterSetDeterministicOverlappingPairs=1)
        client.run(
            "InitPhysicsParamCommand",
            PhysicsParamSetGravity=(0.0, 0.0, world.GRAVITY),
            PhysicsParamSetDefaultContactERP=world.CONTACT_ERP,
            PhysicsParamSetTimeStep=kernel.SECONDS_PER_STEP,
            PhysicsParamSetNumSubSteps=world.SUBSTEPS,
            PhysicsParamSetNumSolverIterations=world.SOLVER_ITERATIONS,
        )
        floor = client.load_body("LoadSdfCommandInit", world.floor_path())
        client.run(
            "InitChangeDynamicsInfo",
            ChangeDynamicsInfoSetLateralFriction=(floor, -1, world.FLOOR_FRICTION),
            ChangeDynamicsInfoSetRestitution=(floor, -1, world.FLOOR_RESTITUTION),
        )
        path = world.model_path(self.task.robot.model)
        body = client.load_body("LoadMJCFCommandInit", path, LoadMJCFCommandSetFlags=world.MODEL_FLAGS)
        layout = world.find_layout(self.task.robot)
        for link, friction in layout.changed_friction:
            client.run("InitChangeDynamicsInfo", ChangeDynamicsInfoSetLateralFriction=(body, link, friction))
        for q, u in zip(layout.q_index, layout.u_index, strict=True):
            client.run(
                "JointControlCommandInit2",
                body,
                POSITION_CONTROL,
                JointControlSetDesiredPosition=(q, 0.0),
                JointControlSetKp=(u, world.MOTOR_GAIN),
                JointControlSetDesiredVelocity=(u, 0.0),
                JointControlSetKd=(u, world.MOTOR_GAIN),
                JointControlSetMaximumForce=(u, 0.0),
            )
        self.body = world.make_body(self.task.robot, body, floor)
        self.state = world.make_state(self.body, self.task.obs_dim)
        self.saved = client.save_state()

    def reset(self, q0: np.ndarray) -> None:
        kernel.reset_bullet(self.client.handle, self.saved, self.body, self.state, q0)

    def step(self, action: np.ndarray) -> tuple[float, int]:
        reward, end = kernel.step_bullet(self.client.handle, self.body, self.state, action)
        if end == NON_FINITE:
            self._rebuild()
        return reward, end

    def rollout(self, setup: Setup, q0: np.ndarray) -> Episode:
        measures = np.zeros(self.body.measured_feet.size)
        trace = world.make_trace(self.task) if setup.trace else self.no_trace
        objective, length, end = kernel.rollout(
            *(self.client.handle, self.saved, self.body, self.state, q0, self.task.max_steps, self.sizes),
            *(setup.solution, setup.obs_mean, setup.obs_std, setup.action_noise, measures),
            *(*self.recorder.arrays(setup.record), *trace),
        )
        if end == NON_FINITE:
            self._rebuild()
        drawn = world.cut_trace(trace, length) if setup.trace else None
        return Episode(objective, measures, length, end, self.recorder.copy(setup.record, length), drawn)

    def pose(self) -> tuple[np.ndarray, np.ndarray]:
        q_index = self.body.all_q_index
        positions = np.empty(q_index.max() + 1)
        kernel.read_positions(self.client.handle, self.body, self.state, positions)
        return positions[:7], positions[q_index]

    def _warm_up(self) -> None:
        obs, action = np.zeros(self.task.obs_dim, np.float32), np.zeros((0, self.task.action_dim), np.float32)
        solution, q0 = np.zeros(self.task.solution_dim, np.float32), np.zeros(self.task.action_dim)
        self.rollout(Setup(solution, 0, obs, obs + 1, action), q0)

    def _rebuild(self) -> None:
        """Numbers that are not finite survive in Bullet's caches; a new client has none."""
        self.close()
        self._build()

    def close(self) -> None:
        self.client.close()
