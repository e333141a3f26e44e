"""A simulator in compiled code, on Bullet's C API."""

from __future__ import annotations

import numpy as np

from gaits.episodes import NON_FINITE, Episode, Setup
from gaits.physics import world
from gaits.physics.bullet import capi, kernel, scene
from gaits.physics.policy import make_network, room
from gaits.physics.walking import SECONDS_PER_STEP, make_states, take_state
from gaits.tasks.task import Task

POSITION_CONTROL = 2


class NativeSimulator:
    """One robot on one floor in a client of its own. Not to be shared between threads; any number may run at once."""

    def __init__(self, task: Task) -> None:
        self.task = task
        self.network = make_network(task.policy.sizes)
        self.weights = np.zeros(room(self.network.sizes)[0], np.float32)
        self.recorder = world.Recorder(task)
        self.no_trace = world.make_trace(task, wanted=False)
        self._build()

    def _build(self) -> None:
        self.client = client = capi.Client()
        client.run("InitResetSimulationCommand", InitResetSimulationSetFlags=0)
        client.run("InitPhysicsParamCommand", PhysicsParameterSetDeterministicOverlappingPairs=1)
        client.run(
            "InitPhysicsParamCommand",
            PhysicsParamSetGravity=(0.0, 0.0, scene.GRAVITY),
            PhysicsParamSetDefaultContactERP=scene.CONTACT_ERP,
            PhysicsParamSetTimeStep=SECONDS_PER_STEP,
            PhysicsParamSetNumSubSteps=scene.SUBSTEPS,
            PhysicsParamSetNumSolverIterations=scene.SOLVER_ITERATIONS,
        )
        floor = client.load_body("LoadSdfCommandInit", scene.floor_path())
        client.run(
            "InitChangeDynamicsInfo",
            ChangeDynamicsInfoSetLateralFriction=(floor, -1, scene.FLOOR_FRICTION),
            ChangeDynamicsInfoSetRestitution=(floor, -1, scene.FLOOR_RESTITUTION),
        )
        path = scene.model_path(self.task.robot.model)
        body = client.load_body("LoadMJCFCommandInit", path, LoadMJCFCommandSetFlags=scene.MODEL_FLAGS)
        layout = world.find_layout(self.task.robot)
        for link, friction in layout.changed_friction:
            client.run("InitChangeDynamicsInfo", ChangeDynamicsInfoSetLateralFriction=(body, link, friction))
        for q, u in zip(layout.q_index, layout.u_index, strict=True):
            client.run(
                "JointControlCommandInit2",
                body,
                POSITION_CONTROL,
                JointControlSetDesiredPosition=(q, 0.0),
                JointControlSetKp=(u, scene.MOTOR_GAIN),
                JointControlSetDesiredVelocity=(u, 0.0),
                JointControlSetKd=(u, scene.MOTOR_GAIN),
                JointControlSetMaximumForce=(u, 0.0),
            )
        self.ids = scene.find_ids(layout, body, floor)
        self.body = world.make_body(self.task.robot)
        self.state = take_state(make_states(self.body, 1), 0)
        self.saved = client.save_state()

    def reset(self, q0: np.ndarray) -> None:
        kernel.reset_bullet(self.client.handle, self.saved, self.ids, self.body, self.state, q0)

    def step(self, action: np.ndarray) -> tuple[float, int]:
        reward, end = kernel.step_bullet(self.client.handle, self.ids, self.body, self.state, action)
        if end == NON_FINITE:
            self._rebuild()
        return reward, end

    def rollout(self, setup: Setup, q0: np.ndarray) -> Episode:
        measures = np.zeros(self.body.n_measured)
        trace = world.make_trace(self.task) if setup.trace else self.no_trace
        objective, length, end = kernel.rollout(
            *(self.client.handle, self.saved, self.ids, self.body, self.state, q0, self.task.max_steps),
            *(self.network, self.weights, setup.solution, setup.obs_mean, setup.obs_std, setup.action_noise, measures),
            *(*self.recorder.arrays(setup.record), *trace),
        )
        if end == NON_FINITE:
            self._rebuild()
        drawn = world.cut_trace(trace, length) if setup.trace else None
        return Episode(objective, measures, length, end, self.recorder.copy(setup.record, length), drawn)

    def pose(self) -> tuple[np.ndarray, np.ndarray]:
        q_index = self.ids.all_q_index
        positions = np.empty(q_index.max() + 1)
        kernel.read_positions(self.client.handle, self.ids, self.body, positions)
        return positions[:7], positions[q_index]

    def _rebuild(self) -> None:
        """Numbers that are not finite survive in Bullet's caches; a new client has none."""
        self.close()
        self._build()

    def close(self) -> None:
        self.client.close()
