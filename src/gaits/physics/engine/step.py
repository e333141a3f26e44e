"""One step of the environment: four substeps of collision, dynamics, rows, impulses, motion (ENGINE 1)."""

from __future__ import annotations

from gaits.compiling import merged
from gaits.lanes import any_lane, like, part, select
from gaits.physics.engine import planar, spatial
from gaits.physics.engine.algebra import get3, scale
from gaits.physics.engine.constants import SUBSTEPS
from gaits.physics.engine.contact import collide_floor
from gaits.physics.engine.self_contact import collide_self
from gaits.physics.engine.solver import NOBODY, add_product, diagonal, friction_row, iterate, limit_row, normal_row, product
from gaits.physics.engine.spots import SPOT, find_spots


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
    """Rows of all contacts: along the normal, then both directions across (ENGINE 6.1 to 6.3)."""
    n, rows = robot.n, robot.rows_per_spot
    for i in range(spots):
        row, group, spot = work.spot_row[i], work.spot_group[i], SPOT * i
        tip, other = robot.group_tip[group], robot.group_other[group]
        jacobians, responses = part(work.jacobian, n * row), part(work.response, n * row)
        if robot.planar:
            x, z = work.spot[spot], work.spot[spot + 2]
            planar.contact_jacobians(robot, work, tip, x, z, jacobians, part(jacobians, n))
            planar.respond(robot, work, tip, jacobians, responses)
            planar.respond(robot, work, tip, part(jacobians, n), part(responses, n))
        elif other == NOBODY:
            point = get3(work.spot, spot)
            spatial.floor_jacobians(robot, work, tip, point, jacobians, part(jacobians, n), part(jacobians, 2 * n))
            spatial.respond_to_contact(robot, work, tip, jacobians, responses)
        else:
            for k in range(2 * rows):
                point = get3(work.spot, spot if k < rows else spot + 3)
                direction = scale(get3(work.spot, spot + 7 + 3 * (k % rows)), 1.0 if k < rows else -1.0)
                spatial.jacobian(robot, work, tip if k < rows else other, point, direction, part(jacobians, n * k))
            spatial.respond_to_contact(robot, work, tip, jacobians, responses)
            spatial.respond_to_contact(robot, work, other, part(jacobians, n * rows), part(responses, n * rows))
        for k in range(rows):
            jacobian, here = part(jacobians, n * k), part(work.row, 4 * (row + k))
            total = product(robot, tip, jacobian, part(responses, n * k))
            speed = product(robot, tip, work.u, jacobian)
            if other != NOBODY:
                jacobian = part(jacobian, n * rows)
                total = total + product(robot, other, jacobian, part(responses, n * (rows + k)))
                speed = add_product(robot, other, work.u, jacobian, speed)
            if k == 0:
                normal_row(here, diagonal(total), speed, work.spot[spot + 6], work.present[i])
            else:
                friction_row(here, diagonal(total), speed, work.present[i])


@merged
def substep(robot, work, pose, after):
    """ENGINE 1.4: from where links are (``pose``) to where they are next (``after``)."""
    if robot.pairs > 0:
        collide_self(robot, work, pose)
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
    pose, after = work.pose, work.before
    for _ in range(SUBSTEPS):
        substep(robot, work, pose, after)
        pose, after = after, pose
