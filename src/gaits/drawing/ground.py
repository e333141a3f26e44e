"""Sky, a ground of one-metre tiles, and on it the robot's shadow and the light of feet that stand.

Compiled by Numba. Every pixel's colour is computed from the point of the ground that it shows, averaged over the pixel
where that is possible in closed form: nothing flickers as the camera moves.
"""

from __future__ import annotations

import math

import numpy as np

from gaits.compiling import entry

compiled = entry(fastmath=True)  # pixels need no last bits: a third faster

LINE, LINE_REACH = 0.03, 2.5  # metres from the middle of the start line to its sides and ends
LINE_SHARE, SHADOW_SHARE, GLOW_SHARE = 0.45, 0.34, 0.6  # how opaque they are
BLUR, BLUR_AT_HEIGHT, FADE_AT_HEIGHT = 0.02, 0.3, 1.2  # of a shadow: metres, and metres and paling per metre of height
GLOW = 1.8  # how far a foot's light goes, in radii


@compiled
def paint_ground(picture, camera, theme, lane, ends, radii, lit):
    """Fill ``picture`` (height, width, 3) uint8.

    ``ends`` (S, 2, 3) and ``radii`` (S,) are the robot's, ``lit`` (S,) says which capsules glow; the start line lies
    around y = ``lane``.
    """
    height, width, _ = picture.shape
    eye, forward, right, up = camera.eye, camera.forward, camera.right, camera.up
    pixel = 1 / camera.focal
    horizon = camera.row + camera.focal * forward[2] / up[2]
    haze_end = horizon + 0.42 * (height - min(horizon, height)) + 0.083 * height
    reaches = find_reaches(ends, radii)
    left, right_end = reaches[:, 0].min(), reaches[:, 1].max()
    near, far = reaches[:, 2].min(), reaches[:, 3].max()
    tiles = np.empty(width)
    for row in range(height):
        v = (camera.row - row - 0.5) * pixel
        down = -(forward[2] + v * up[2])  # along the ray through this row, which is level
        if down <= 1e-6:
            sky = mix(theme.sky_top, theme.sky, clamp((row + 0.5) / max(horizon, 1.0)))
            for column in range(width):
                put(picture, row, column, sky)
            continue
        depth = eye[2] / down
        haze = clamp((haze_end - row - 0.5) / (haze_end - horizon))
        bright, dark = mix(theme.ground, theme.sky, haze), mix(theme.tile, theme.sky, haze)
        line = mix(theme.start, theme.sky, haze)
        # The ground in the middle of the row, how far it is to the next pixel's, and how much of it a pixel sees along x
        # and y: its width, and its height, which lies down.
        ahead_x, ahead_y = forward[0] + v * up[0], forward[1] + v * up[1]
        x_step, y_step = depth * right[0] * pixel, depth * right[1] * pixel
        lying = depth * up[2] / down
        x_size = abs(x_step) + abs(depth * up[0] + lying * ahead_x) * pixel
        y_size = abs(y_step) + abs(depth * up[1] + lying * ahead_y) * pixel
        x_start = eye[0] + depth * ahead_x + (0.5 - camera.column) * x_step
        y_start = eye[1] + depth * ahead_y + (0.5 - camera.column) * y_step
        for column in range(width):  # a loop of its own, which is vectorized
            x, y = x_start + column * x_step, y_start + column * y_step
            tiles[column] = 0.5 + 0.5 * stripes(x, x_size) * stripes(y, y_size)
        for column in range(width):
            x, y = x_start + column * x_step, y_start + column * y_step
            color = mix(bright, dark, tiles[column])
            if abs(x) < LINE + x_size:
                on_line = overlap(x, x_size, LINE) * overlap(y - lane, y_size, LINE_REACH)
                color = mix(color, line, LINE_SHARE * on_line)
            if left < x < right_end and near < y < far:
                shadow, glow = under_robot(x, y, ends, radii, lit, reaches)
                color = mix(color, theme.shadow, SHADOW_SHARE * shadow)
                color = mix(color, theme.contact, GLOW_SHARE * glow)
            put(picture, row, column, color)


@compiled
def stripes(x, wide):
    """The mean over a pixel ``wide`` metres wide of +1 on even metres and -1 on odd ones."""
    return (zigzag(x + 0.5 * wide) - zigzag(x - 0.5 * wide)) / wide


@compiled
def zigzag(x):
    """The integral of the stripes: up on even metres, down on odd ones."""
    return 1.0 - abs(x - 2 * math.floor(0.5 * x) - 1.0)


@compiled
def overlap(x, wide, half):
    """The share of a pixel around x that is within ``half`` of zero."""
    return max(min(x + 0.5 * wide, half) - max(x - 0.5 * wide, -half), 0.0) / wide


@compiled
def find_reaches(ends, radii):
    """From and to which x, from and to which y a capsule makes the ground darker or lights it (S, 4)."""
    reaches = np.empty((radii.size, 4))
    for k in range(radii.size):
        height = max(ends[k, 0, 2], ends[k, 1, 2], 0.0)
        margin = radii[k] + max(BLUR + BLUR_AT_HEIGHT * height, GLOW * radii[k])
        for axis in range(2):
            a, b = ends[k, 0, axis], ends[k, 1, axis]
            reaches[k, 2 * axis], reaches[k, 2 * axis + 1] = min(a, b) - margin, max(a, b) + margin
    return reaches


@compiled
def under_robot(x, y, ends, radii, lit, reaches):
    """How much light from above the robot takes from a point of the ground, and how much its feet light it, 0 to 1.

    The parts' shadows are one: where they overlap it is not darker.
    """
    shadow = glow = 0.0
    for k in range(radii.size):
        if not (reaches[k, 0] < x < reaches[k, 1] and reaches[k, 2] < y < reaches[k, 3]):
            continue
        ax, ay, az = ends[k, 0, 0] - x, ends[k, 0, 1] - y, ends[k, 0, 2]
        dx, dy, dz = ends[k, 1, 0] - x - ax, ends[k, 1, 1] - y - ay, ends[k, 1, 2] - az
        flat = -(ax * dx + ay * dy)
        shadow = max(shadow, ball_shadow(ax, ay, az, dx, dy, dz, clamp(flat / max(dx * dx + dy * dy, 1e-12)), radii[k]))
        # The lower end's shadow is the sharpest, which matters when the capsule is upright.
        shadow = max(shadow, ball_shadow(ax, ay, az, dx, dy, dz, 0.0 if dz > 0 else 1.0, radii[k]))
        if lit[k]:
            along = clamp((flat - az * dz) / max(dx * dx + dy * dy + dz * dz, 1e-12))
            gap = math.sqrt((ax + along * dx) ** 2 + (ay + along * dy) ** 2 + (az + along * dz) ** 2) - radii[k]
            glow = max(glow, clamp(1 - gap / (GLOW * radii[k])))
    return shadow, glow


@compiled
def ball_shadow(x, y, z, dx, dy, dz, along, radius):
    """Of the ball around a point of a capsule's axis: wider and paler the higher it is."""
    height = max(z + along * dz - radius, 0.0)
    blur = BLUR + BLUR_AT_HEIGHT * height
    share = clamp(0.5 + 0.5 * (radius - math.sqrt((x + along * dx) ** 2 + (y + along * dy) ** 2)) / blur)
    return share * share * (3 - 2 * share) / (1 + FADE_AT_HEIGHT * height)


@compiled
def clamp(share):
    return min(max(share, 0.0), 1.0)


@compiled
def mix(one, other, share):
    """From one colour to another."""
    return (
        one[0] + (other[0] - one[0]) * share,
        one[1] + (other[1] - one[1]) * share,
        one[2] + (other[2] - one[2]) * share,
    )


@compiled
def put(picture, row, column, color):
    for channel in range(3):
        picture[row, column, channel] = int(color[channel] + 0.5)
