"""Which shapes of a robot may touch each other, and what is known of them before anything moves (ENGINE 5.8 to 5.10)."""

from __future__ import annotations

from typing import Any

import numpy as np

from gaits.physics.robots import BASE, SPHERE, Collider, RobotData, Shape

BOX = 19  # constants of a shape: centre and half extents of its box 6, low and high corner for its link 6, centre and half
# extents of the box that another link makes of those 6, how far it reaches from its axis


def visiting_order(collider: Collider) -> tuple[Shape, ...]:
    """The shapes of a link as Bullet visits them. It has them in a tree, whose newer side comes first (ENGINE 5.8).

    The first two are a side each; a third one joins the nearer.
    """
    if len(collider.shapes) < 3:
        return collider.shapes[::-1]
    first, second, third = collider.shapes
    joins_first = abs(_middle(third) - _middle(first)).sum() < abs(_middle(third) - _middle(second)).sum()
    return (second, third, first) if joins_first else (third, second, first)


def _middle(shape: Shape) -> np.ndarray:
    return np.mean(shape.centres, axis=0) + shape.position


def find_meetings(robot: RobotData, shapes: list[tuple[Collider, Shape]]) -> list[list[tuple[int, int]]]:
    """The shapes of every two links that may touch, by their number, in visiting order (ENGINE 5.2, 5.9)."""
    of_link: dict[int, list[int]] = {}
    for number, (collider, _) in enumerate(shapes):
        of_link.setdefault(collider.link, []).append(number)
    return [[(a, b) for b in of_link[second] for a in of_link[first]] for first, second in robot.self_pairs]


def make_box(collider: Collider, shape: Shape) -> np.ndarray:
    """Constants of a shape's box. That of two spheres has their margin twice, as in Bullet (ENGINE 5.10)."""
    margin, radius, place = shape.margin, shape.radius, np.array(shape.position)
    if shape.kind == SPHERE:
        centre, half = np.zeros(3), np.full(3, margin)
    else:
        centres = np.array(shape.centres)
        high = ((centres + radius) - margin).max(0) + margin
        low = ((centres - radius) + margin).min(0) - margin
        centre, half = (high + low) * 0.5, (high - low) * 0.5 + margin
    low, high = (centre + place) - half, (centre + place) + half
    turned = ((high + low) * 0.5, (high - low) * 0.5) if collider.compound else (centre, half)
    return np.concatenate([centre, half, low, high, *turned, [abs(radius - margin) + margin]])


def first_live(robot: RobotData, shapes: list[tuple[Collider, Shape]], meetings: list[tuple[int, int]]) -> np.ndarray:
    """The manifolds that an episode starts with: of what overlaps while the robot is straight, then the floor's (8.1)."""
    poses = _straight(robot)
    boxes = [make_box(*shape) for shape in shapes]
    near = [
        len(shapes) + k
        for k, (a, b) in enumerate(meetings)
        if _overlap(shapes[a], boxes[a], poses[shapes[a][0].link], shapes[b], boxes[b], poses[shapes[b][0].link])
    ]
    return np.array([*near, *range(len(shapes))])


def _straight(robot: RobotData) -> dict[int, tuple[np.ndarray, np.ndarray]]:
    """Rotation to the world and position of every link, joints at zero."""
    poses = {BASE: (np.eye(3), np.zeros(3))}
    for number, link in enumerate(robot.links):
        turned, at = poses[link.parent]
        from_parent = _matrix(*link.rotation)
        rotation = turned @ from_parent.T
        poses[number] = rotation, at + rotation @ (link.d + from_parent @ link.e)
    return poses


def _matrix(x: float, y: float, z: float, w: float) -> np.ndarray:
    rows = (
        (1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)),
        (2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)),
        (2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)),
    )
    return np.array(rows)


def _overlap(a: Any, box_a: np.ndarray, pose_a: Any, b: Any, box_b: np.ndarray, pose_b: Any) -> bool:
    """Whether two boxes do, in the world and for A's link."""
    centre_a, half_a = _in_world(a[1], box_a, *pose_a)
    centre_b, half_b = _in_world(b[1], box_b, *pose_b)
    (turn_a, at_a), (turn_b, at_b) = pose_a, pose_b
    turn = turn_a.T @ turn_b
    centre, half = turn @ box_b[12:15] + turn_a.T @ (at_b - at_a), abs(turn) @ box_b[15:18]
    in_world = np.all(abs(centre_a - centre_b) <= half_a + half_b)
    return bool(in_world and np.all(box_a[6:9] <= centre + half) and np.all(box_a[9:12] >= centre - half))


def _in_world(shape: Shape, box: np.ndarray, turn: np.ndarray, at: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    place = turn @ shape.position + at
    return (place, box[3:6]) if shape.kind == SPHERE else (turn @ box[:3] + place, abs(turn) @ box[3:6])
