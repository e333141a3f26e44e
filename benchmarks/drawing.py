"""Pictures of each robot per second of processor time, beside Bullet's software renderer.

Usage: python benchmarks/drawing.py [--bullet] [--out DIR]
    --bullet    draw with Bullet, too, which needs pybullet and about half a minute
    --out DIR   write a picture of each robot
"""

import argparse
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
from PIL import Image

import gaits
from gaits.drawing import Painter
from gaits.physics import make_simulator
from gaits.physics.figure import find_ends, make_figure
from gaits.physics.walking import SECONDS_PER_STEP

SIZES = ((320, 240), (480, 360), (1920, 1080))
STEPS = 60


def speed(draw: Callable[[int], object], steps: int = STEPS, rounds: int = 3) -> float:
    """Of the fastest round, so that a busy machine matters less."""
    draw(0)
    seconds = []
    for _ in range(rounds):
        began = time.process_time()
        for step in range(steps):
            draw(step)
        seconds.append(time.process_time() - began)
    return steps / min(seconds)


def bullet_speed(task: gaits.Task, poses: list[tuple[np.ndarray, np.ndarray]], width: int, height: int) -> float:
    import pybullet as p

    from gaits.physics import world
    from gaits.physics.bullet import scene

    client = p.connect(p.DIRECT)
    p.loadSDF(scene.floor_path(), physicsClientId=client)
    (robot,) = p.loadMJCF(scene.model_path(task.robot.model), flags=scene.MODEL_FLAGS, physicsClientId=client)
    lens = p.computeProjectionMatrixFOV(32.0, width / height, 0.1, 100.0)

    def draw(step: int) -> object:
        base, joints = poses[step]
        p.resetBasePositionAndOrientation(robot, base[:3], base[3:], physicsClientId=client)
        for joint, angle in zip(world.find_layout(task.robot).moving, joints, strict=True):
            p.resetJointState(robot, joint, angle, physicsClientId=client)
        view = p.computeViewMatrixFromYawPitchRoll((*base[:2], 0.6), 4.0, 10.0, -15.0, 0.0, 2)
        return p.getCameraImage(width, height, view, lens, shadow=0, renderer=p.ER_TINY_RENDERER, physicsClientId=client)

    try:
        return speed(draw, steps=10)
    finally:
        p.disconnect(client)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--bullet", action="store_true")
    parser.add_argument("--out", type=Path)
    args = parser.parse_args()
    print(f"{'':16}" + "".join(f"{f'{width} x {height}':>13}" for width, height in SIZES))
    for task in [task for task in gaits.TASKS.values() if task.robot]:
        simulator = make_simulator(task)
        simulator.reset(np.zeros(task.action_dim))
        rng, poses, contacts, totals = np.random.default_rng(1), [simulator.pose()], [simulator.state.contact.copy()], [0.0]
        for _ in range(STEPS - 1):
            reward, _ = simulator.step(rng.uniform(-1, 1, task.action_dim).astype(np.float32))
            poses.append(simulator.pose())
            contacts.append(simulator.state.contact.copy())
            totals.append(totals[-1] + reward)
        simulator.close()
        ends = find_ends(task.robot, *map(np.stack, zip(*poses, strict=True)))
        speeds = []
        for size in SIZES:
            painter = Painter(make_figure(task), ends[0], *size)

            def draw(step: int, painter: Painter = painter) -> np.ndarray:
                seconds = step * SECONDS_PER_STEP
                return painter.draw(ends[step], contacts[step], seconds=seconds, total=totals[step])  # noqa: B023

            speeds.append(speed(draw))
            if args.out and size == (480, 360):
                args.out.mkdir(parents=True, exist_ok=True)
                Image.fromarray(draw(20)).save(args.out / f"{task.name}.png")
        print(f"{task.name:16}" + "".join(f"{value:13,.0f}" for value in speeds))
        if args.bullet:
            print(f"{'  Bullet':16}" + "".join(f"{bullet_speed(task, poses, *size):13,.1f}" for size in SIZES[:2]))
