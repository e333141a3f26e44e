"""One step of the environment: four substeps of collision, dynamics, rows, impulses, motion (ENGINE 1)."""

from __future__ import annotations

from gaits.physics.compiling import merged
from gaits.physics.engine import planar, spatial
from gaits.physics.engine.algebra import get3
from gaits.physics.engine.constants import SUBSTEPS
from gaits.physics.engine.contact import collide_floor, find_spots
from gaits.physics.engine.solver import diagonal, friction_row, iterate, limit_row, normal_row, product
from gaits.physics.lanes import any_lane, like, part, select


@merged
def place(robot, work, pose):
    if robot.planar:
        planar.place(robot, work, pose)
    else:
        spatial.place(robot, work, pose)


@merged
def respond(robot, work, tip, row):
    jacobian, response = part(work.jacobian, robot.n * row), part(work.response, robot.n * row)
    if robot.planar:
        planar.respond(robot, work, tip, jacobian, response)
    else:
        spatial.respond(robot, work, tip, jacobian, response)


@merged
def limit_rows(robot, work):
    """Rows of joints at the end of their range, in any lane (ENGINE 6.4). Returns how many; work.limit says which."""
    rows = 0
    for i in range(robot.limits):
        d = robot.limit_dof[i]
        above, below = work.q[d] - robot.limit_range[2 * i], robot.limit_range[2 * i + 1] - work.q[d]
        low, high = above <= 0.0, below <= 0.0
        if not any_lane(low | high):
            continue
        side = select(low, like(above, 1.0), select(high, like(above, -1.0), 0.0))
        jacobian, response = part(work.jacobian, robot.n * i), part(work.response, robot.n * i)
        for k in range(robot.n):
            jacobian[k] = like(above, 0.0)
        jacobian[d] = side
        respond(robot, work, robot.limit_link[i], i)
        depth = select(low, above, below)
        limit_row(part(work.row, 4 * i), diagonal(side * response[d]), work.u[d] * side, depth, side * side)
        work.limit[rows] = i
        rows += 1
    return rows


@merged
def spot_rows(robot, work, spots):
    """Rows of all contacts: up, then across and along x (ENGINE 6.1 to 6.3)."""
    for spot in range(spots):
        row, tip = robot.limits + robot.rows_per_spot * spot, work.spot_tip[spot]
        point, distance, present = get3(work.spot, 4 * spot), work.spot[4 * spot + 3], work.present[spot]
        if robot.planar:
            normal, friction = part(work.jacobian, robot.n * row), part(work.jacobian, robot.n * (row + 1))
            planar.contact_jacobians(robot, work, tip, point[0], point[2], normal, friction)
        else:
            up, across = part(work.jacobian, robot.n * row), part(work.jacobian, robot.n * (row + 1))
            spatial.contact_jacobians(robot, work, tip, point, up, across, part(work.jacobian, robot.n * (row + 2)))
            spatial.respond_to_contact(robot, work, tip, up, part(work.response, robot.n * row))
        for i in range(robot.rows_per_spot):
            if robot.planar:
                respond(robot, work, tip, row + i)
            jacobian, here = part(work.jacobian, robot.n * (row + i)), part(work.row, 4 * (row + i))
            inv = diagonal(product(robot, tip, jacobian, part(work.response, robot.n * (row + i))))
            speed = product(robot, tip, work.u, jacobian)
            if i == 0:
                normal_row(here, inv, speed, distance, present)
            else:
                friction_row(here, inv, speed, present)


@merged
def substep(robot, work, pose, after):
    """ENGINE 1.4: from where links are (``pose``) to where they are next (``after``)."""
    collide_floor(robot, work, pose)
    if robot.planar:
        planar.accelerate(robot, work)
    else:
        spatial.accelerate(robot, work)
    limits = limit_rows(robot, work)
    spots = find_spots(robot, work)
    spot_rows(robot, work, spots)
    if limits + spots > 0:
        iterate(robot, work, limits, spots)
        for d in range(robot.n):
            work.u[d] = planar.clamp(work.u[d] + work.dv[d])
    if robot.planar:
        planar.integrate(robot, work)
    else:
        spatial.integrate(robot, work)
    place(robot, work, after)


@merged
def step(robot, work):
    """Four substeps. Afterwards work.pose is current, and work.before a substep older: what Bullet reports (7.3)."""
    for _ in range(SUBSTEPS // 2):
        substep(robot, work, work.pose, work.before)
        substep(robot, work, work.before, work.pose)
