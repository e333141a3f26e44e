"""A robot's capsules, with smooth edges, each pixel showing what is in front.

Compiled by Numba. Through every pixel goes a ray; where it meets a capsule is known in closed form, and so is how much
of the pixel the capsule covers: how far the ray passes from its surface, in pixels. Everything is along the camera's
axes: right, up, forward.
"""

from __future__ import annotations

import math

import numpy as np

from gaits.compiling import entry

compiled = entry(fastmath=True)  # pixels need no last bits: a fifth faster

NEAR = 0.25  # metres before the camera
LIGHT = (-0.36, 0.72, -0.60)  # the way to the light
MIDDLE, CONTRAST = -0.02, 0.42  # tone of what is side on to the light, and how much it changes towards and away from it
SHINE, SHARPNESS = 0.3, 16
OUTLINE, OUTLINE_TONE, OUTLINE_SHARE = 0.04, -0.55, 0.6  # width in radii, at least a pixel
DEPTH, COVERAGE, COLOR = 0, 1, 2  # columns of a layer


@compiled
def paint_capsules(picture, focal, middle_column, middle_row, ends, radii, colors, behind):
    """Draw S capsules with these ends (S, 2, 3) and colours (S, 3) over ``picture`` (height, width, 3) uint8.

    ``behind`` (S,) metres are added to a capsule's depth when it is told what hides what.
    """
    strips = find_strips(focal, middle_column, middle_row, ends, radii)
    spans = np.empty((radii.size, 3), np.int64)
    layers = np.empty((radii.size + 1, COLOR + 3))  # of a pixel, nearest first
    for row in range(picture.shape[0]):
        v = (middle_row - row - 0.5) / focal
        n_spans, left, right = find_spans(row + 0.5, picture.shape[1], strips, spans)
        for column in range(left, right):
            u = (column + 0.5 - middle_column) / focal
            n = 0
            for i in range(n_spans):
                if spans[i, 1] <= column < spans[i, 2]:
                    k = spans[i, 0]
                    depth, coverage, tone, edge = look(u, v, focal, ends[k, 0], ends[k, 1], radii[k])
                    if coverage > 0:
                        put_layer(layers, n, depth + behind[k], coverage, colors[k], tone, edge)
                        n += 1
            if n:
                compose(picture[row, column], layers, n, focal)


@compiled
def find_strips(focal, middle_column, middle_row, ends, radii):
    """Column and row of a capsule's ends, and how many pixels it reaches around them (S, 5).

    The latter is below 0 for a capsule that is not before the camera.
    """
    strips = np.empty((radii.size, 5))
    for k in range(radii.size):
        closest = min(ends[k, 0, 2], ends[k, 1, 2]) - radii[k]
        for end in range(2):
            x, y, depth = ends[k, end]
            strips[k, 2 * end] = middle_column + focal * x / depth
            strips[k, 2 * end + 1] = middle_row - focal * y / depth
        # A ball off the middle is seen as an ellipse: a tenth is enough for what is that far from the middle.
        strips[k, 4] = 1.1 * focal * radii[k] / closest + 1 if closest > NEAR else -1
    return strips


@compiled
def find_spans(y, width, strips, spans):
    """Write which capsule may be seen in a row, from which column to which, to ``spans`` (S, 3).

    Returns how many there are, and the first and last column of all.
    """
    n, left, right = 0, width, 0
    for k in range(len(strips)):
        ax, ay, bx, by, margin = strips[k]
        if margin < 0 or y < min(ay, by) - margin or y > max(ay, by) + margin:
            continue
        first, last = 0.0, 1.0  # the part of the axis that is close enough to the row
        if abs(by - ay) > 1e-6:
            one, other = (y - margin - ay) / (by - ay), (y + margin - ay) / (by - ay)
            first, last = clamp(min(one, other)), clamp(max(one, other))
        one, other = ax + first * (bx - ax), ax + last * (bx - ax)
        spans[n, 0] = k
        spans[n, 1] = max(int(min(one, other) - margin), 0)
        spans[n, 2] = min(int(max(one, other) + margin) + 1, width)
        n, left, right = n + 1, min(left, spans[n, 1]), max(right, spans[n, 2])
    return n, left, right


@compiled
def look(u, v, focal, start, end, radius):
    """What the ray (u, v, 1) sees of a capsule: depth, coverage, tone, and 1 at its outline, 0 away from it."""
    x, y, z = start
    dx, dy, dz = end[0] - x, end[1] - y, end[2] - z
    # The points of the ray and of the axis that are closest: t along the ray, s from 0 to 1 along the axis.
    ray2, axis2, both = u * u + v * v + 1.0, dx * dx + dy * dy + dz * dz, u * dx + v * dy + dz
    ahead, along = u * x + v * y + z, dx * x + dy * y + dz * z
    across = ray2 * axis2 - both * both
    s = (both * ahead - ray2 * along) / across if across > 1e-9 else 0.0
    t, line2 = closest(u, v, x + s * dx, y + s * dy, z + s * dz, ray2)
    within = clamp(s)
    if s != within:
        t, gap2 = closest(u, v, x + within * dx, y + within * dy, z + within * dz, ray2)
    else:
        gap2 = line2
    inside = (radius - math.sqrt(gap2)) * focal / t
    coverage = clamp(0.5 + inside)
    if coverage == 0.0:
        return 0.0, 0.0, 0.0, 0.0
    # Where the ray enters the endless cylinder, it enters the ball around the axis at the same height, too: so does it
    # here, at the capsule's end if the cylinder is met beyond.
    if across > 1e-9:
        s = clamp(s - both / axis2 * math.sqrt(max(radius * radius - line2, 0.0) * axis2 / across))
    x, y, z = x + s * dx, y + s * dy, z + s * dz
    t, gap2 = closest(u, v, x, y, z, ray2)
    t -= math.sqrt(max(radius * radius - gap2, 0.0) / ray2)
    tone = light((t * u - x) / radius, (t * v - y) / radius, (t - z) / radius)
    return t, coverage, tone, clamp(max(OUTLINE * radius * focal / t, 1.0) + 0.5 - inside)


@compiled
def closest(u, v, x, y, z, ray2):
    """Where the ray (u, v, 1) is closest to a point, and their distance squared."""
    t = (u * x + v * y + z) / ray2
    return t, (t * u - x) ** 2 + (t * v - y) ** 2 + (t - z) ** 2


@compiled
def light(x, y, z):
    """The tone of a surface with this normal: lighter above 0, darker below."""
    facing = x * LIGHT[0] + y * LIGHT[1] + z * LIGHT[2]
    mirrored = 2 * facing * z - LIGHT[2]  # how much of the light goes to the camera
    return MIDDLE + CONTRAST * facing + SHINE * max(-mirrored, 0.0) ** SHARPNESS


@compiled
def put_layer(layers, n, depth, coverage, color, tone, edge):
    """Add a layer to the n that are there, in order of depth."""
    place = n
    while place > 0 and layers[place - 1, DEPTH] > depth:
        for column in range(COLOR + 3):
            layers[place, column] = layers[place - 1, column]
        place -= 1
    layers[place, DEPTH], layers[place, COVERAGE] = depth, coverage
    for channel in range(3):
        body, outline = shade(color[channel], tone), shade(color[channel], OUTLINE_TONE)
        layers[place, COLOR + channel] = body + (outline - body) * OUTLINE_SHARE * edge


@compiled
def compose(pixel, layers, n, focal):
    """Lay the layers over a pixel. Two that meet within its width are mixed, so that seams are smooth as well."""
    for channel in range(3):
        value = float(pixel[channel])
        for i in range(n - 1, -1, -1):
            value += (layers[i, COLOR + channel] - value) * layers[i, COVERAGE]
        if n > 1 and layers[0, COVERAGE] == 1.0 and layers[1, COVERAGE] == 1.0:
            apart = (layers[1, DEPTH] - layers[0, DEPTH]) * focal / layers[0, DEPTH]
            value += (layers[1, COLOR + channel] - value) * 0.5 * clamp(1.0 - 3.0 * apart)
        pixel[channel] = int(value + 0.5)


@compiled
def shade(value, tone):
    """A colour's channel made lighter (tone above 0) or darker."""
    tone = min(max(tone, -0.9), 0.9)
    return value + ((255.0 if tone > 0 else 0.0) - value) * abs(tone)


@compiled
def clamp(share):
    return min(max(share, 0.0), 1.0)
