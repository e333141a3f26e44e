from __future__ import annotations

import itertools
import re
from pathlib import Path

import numpy as np
import pytest
from helpers import ROBOTS

import gaits
from gaits.drawing import Figure, Painter, find_limbs, follow
from gaits.drawing.camera import aim
from gaits.drawing.capsules import look
from gaits.drawing.colors import INK, MARK, THEME

PLACE = np.array([5.5, 0.0, 0.0])  # away from the start line, whose colour is the trunk's


def ball(x=0.0, y=0.0, z=0.5):
    return [np.add(PLACE, (x, y, z))] * 2


def stick(start, end):
    return [PLACE + start, PLACE + end]


def paint(*capsules, radius=0.1, limbs=None, touching=False, flat=True, size=(240, 180), target=PLACE[:2], **options):
    """A picture of capsules of which the last is a foot; the camera looks at the same place whatever they do."""
    n = len(capsules)
    limbs = np.zeros(n, int) if limbs is None else np.array(limbs)
    figure = Figure(np.full(n, radius), limbs, np.array([*[-1] * (n - 1), 0]), ("",), flat)
    painter = Painter(figure, np.array([ball(z=1.0 - radius)]), *size)
    picture = painter.draw(np.array(capsules).reshape(n, 2, 3), [touching], target, **options)
    return picture.astype(int)


def pixel(point, flat=True, size=(240, 180)):
    """Row and column of a point, as floats: the centre of the pixel in row 3 is at 3.5."""
    column, row, _ = aim(np.add(PLACE, (0, 0, 0.5)), 1.0, flat, *size).project(PLACE + point)
    return np.array([row, column])


def at(picture, point, **options):
    row, column = pixel(point, **options).astype(int)
    return picture[row, column]


def amber(picture):
    return picture[..., 0] - picture[..., 2] > 60


@pytest.mark.parametrize("flat", [True, False])
@pytest.mark.parametrize("place", [(0, 0, 0.5), (0.4, 0.3, 0.8), (-0.5, -0.4, 0.2)])
def test_a_ball_is_where_geometry_says(place, flat):
    camera = aim(np.add(PLACE, (0, 0, 0.5)), 1.0, flat, 240, 180)
    row, column = pixel(place, flat)
    found = np.argwhere(amber(paint(ball(*place), flat=flat)))
    np.testing.assert_allclose(found.mean(axis=0) + 0.5, [row, column], atol=0.7)
    size = 0.1 * camera.focal / camera.project(PLACE + place)[2]
    assert len(found) == pytest.approx(np.pi * size**2, rel=0.08)


def test_a_capsule_reaches_from_end_to_end():
    a, b = np.array([-0.3, 0, 0.3]), np.array([0.3, 0, 0.8])
    along, beside = (b - a) / np.linalg.norm(b - a), np.array([-0.64, 0, 0.77])
    seen = amber(paint(stick(a, b)))
    assert all(at(seen, p) for p in (a, b, (a + b) / 2, a - 0.09 * along, b + 0.09 * along, a + 0.09 * beside))
    assert not any(at(seen, p) for p in (a - 0.12 * along, b + 0.12 * along, a + 0.12 * beside, b + 0.12 * beside))


def test_rays_meet_a_capsule_where_they_meet_the_nearest_of_many_balls():
    rng = np.random.default_rng(0)
    hits = 0
    for _ in range(300):
        start, end = rng.uniform((-0.5, -0.5, 2), (0.5, 0.5, 4), (2, 3))
        radius, (u, v) = rng.uniform(0.05, 0.4), rng.uniform(-0.15, 0.15, 2)
        ray = np.array([u, v, 1.0])
        balls = start + np.linspace(0, 1, 4001)[:, None] * (end - start)
        t = balls @ ray / (ray @ ray)
        room = radius**2 - ((t[:, None] * ray - balls) ** 2).sum(axis=1)
        depth, coverage, _, _ = look(u, v, 1e5, start, end, radius)  # tiny pixels, which are covered or not
        assert coverage == float(room.max() > 0)
        if coverage == 1:
            assert depth == pytest.approx((t - np.sqrt(np.maximum(room, 0) / (ray @ ray)))[room > 0].min(), abs=1e-4)
            hits += 1
    assert 100 < hits < 250


@pytest.mark.parametrize("order", [1, -1])
def test_what_is_nearer_hides_what_is_farther(order):
    away = 0.6 * aim(PLACE, 1.0, False, 240, 180).forward
    near, far = (0, 0, 0.7), np.add(away, (0, 0, 0.7))
    parts = [(ball(*near), 1), (ball(*far), 2)][::order]
    both = paint(*(part for part, _ in parts), limbs=[limb for _, limb in parts], flat=False)
    alone = paint(ball(*far), limbs=[2], flat=False)
    blue, red = at(both, near, flat=False), at(alone, near, flat=False)
    assert blue[2] > blue[0] + 60  # the first limb's colour
    assert red[0] > red[2] + 40  # the second's


def test_limbs_in_one_plane_are_layered():
    first = paint(ball(), ball(), limbs=[1, 2])
    assert at(first, (0, 0, 0.5))[2] > 200  # blue is on the near side
    np.testing.assert_array_equal(first, paint(ball(), ball(), limbs=[2, 1]))


def test_the_shadow_is_below_and_pales_with_height():
    bare = paint(ball(x=50.0))
    dark = [(at(bare, (0, 0, 0)) - at(paint(ball(z=z)), (0, 0, 0))).min() for z in (0.35, 0.6, 1.0)]
    assert dark[0] > dark[1] > dark[2] > 5
    shadowed = paint(ball(z=0.35))
    np.testing.assert_array_equal(at(shadowed, (0.5, 0, 0)), at(bare, (0.5, 0, 0)))


def test_something_upright_has_the_sharp_shadow_of_its_lower_end():
    for lean in (-0.02, 0.02):
        upright, low = paint(stick((0, 0, 0.4), (lean, 0, 0.95))), paint(ball(z=0.4))
        for x in (-0.08, 0.08):
            np.testing.assert_allclose(at(upright, (x, 0, 0)), at(low, (x, 0, 0)), atol=6)


def test_shadows_do_not_add_up():
    np.testing.assert_array_equal(at(paint(ball()), (0, 0, 0)), at(paint(ball(), ball()), (0, 0, 0)))


def test_contact_lights_the_foot_and_the_ground_below_it():
    leg, foot = stick((0, 0, 0.3), (0, 0, 0.8)), stick((-0.1, 0, 0.1), (0.2, 0, 0.1))
    off, on = paint(leg, foot), paint(leg, foot, touching=True)
    assert amber(at(off, (0.1, 0, 0.1)))
    teal = at(on, (0.1, 0, 0.1))
    assert min(teal[1], teal[2]) > teal[0] + 60
    np.testing.assert_array_equal(at(on, (0, 0, 0.6)), at(off, (0, 0, 0.6)))
    ground = at(on, (0.1, -0.1, 0)) - at(off, (0.1, -0.1, 0))
    assert ground[0] < -20


def test_edges_are_smooth():
    """Moving by a tenth of a pixel never changes a pixel by much: there are values between robot and ground."""
    metre = pixel((1, 0, 0.5))[1] - pixel((0, 0, 0.5))[1]
    pictures = [paint(stick((-0.3 + x, 0, 0.3), (0.3 + x, 0, 0.8))) for x in np.arange(11) / 10 / metre]
    assert np.abs(pictures[10] - pictures[0]).max() > 100
    assert max(np.abs(b - a).max() for a, b in itertools.pairwise(pictures)) < 35


def test_tiles_are_a_metre_wide():
    picture = paint(ball(x=50.0))
    colors = [at(picture, (x, 0.5, 0)).sum() for x in (-0.4, 0.3, 0.6, 1.2)]  # x = 5.1, 5.8 | 6.1, 6.7
    assert abs(colors[0] - colors[1]) < 3
    assert abs(colors[2] - colors[3]) < 3
    assert abs(colors[1] - colors[2]) > 15


def test_tiles_do_not_flicker():
    """When the camera moves by a tenth of a pixel; small pictures have no text, which moves by whole ones."""
    pictures = [paint(ball(x=50.0), size=(160, 80), target=PLACE[:2] + x) for x in np.arange(11) / 500]
    assert np.abs(pictures[10] - pictures[0]).max() > 8
    assert max(np.abs(b - a).max() for a, b in itertools.pairwise(pictures)) < 4


def test_the_camera_is_the_explorers():
    camera = aim(PLACE, 2.0, True, 480, 360)
    np.testing.assert_allclose(camera.project(PLACE), [240, 0.54 * 360, 1.65 / np.tan(np.radians(16))])
    right, up = camera.project(PLACE + camera.right)[0] - 240, 0.54 * 360 - camera.project(PLACE + camera.up)[1]
    np.testing.assert_allclose([right, up], 180 / 1.65)  # two metres fill 60 % of the height
    assert camera.right.tolist() == [1, 0, 0]  # what goes forward goes to the right
    assert np.degrees(np.arcsin(-camera.forward[2])) == pytest.approx(np.degrees(0.11))


def test_the_same_twice():
    np.testing.assert_array_equal(paint(ball(), seconds=1.0, total=2.0), paint(ball(), seconds=1.0, total=2.0))


def test_clock_and_return_are_written_in_the_corner():
    bare, early, late = paint(ball()), paint(ball(), seconds=0.1), paint(ball(), seconds=0.2)
    rich = paint(ball(), seconds=0.2, total=1234.5)
    for one, other in ((bare, early), (early, late), (late, rich)):
        rows, columns, _ = np.nonzero(one - other)
        assert rows.size
        assert rows.max() < 40
        assert columns.max() < 120


def test_feet_are_told_by_name():
    def corner(flags, labels=("left", "right")):
        figure = Figure(np.array([0.1]), np.zeros(1, int), np.array([-1]), labels)
        return Painter(figure, np.array([ball()]), 240, 180).draw(np.array([ball()]), flags)[:40, 120:].astype(int)

    off, left, both = corner([0, 0]), corner([1, 0]), corner([1, 1])
    lamps = [(picture[..., 1] - picture[..., 0] > 100).sum() for picture in (off, left, both)]
    assert lamps[0] == 0 < lamps[1] < 0.6 * lamps[2]
    assert np.nonzero(left - off)[0].max() < np.nonzero(both - left)[0].min() + 2  # one below the other
    assert np.abs(corner([1, 0], ("", "right")) - corner([0, 0], ("", "right"))).max() == 0


@pytest.mark.parametrize("size", [(64, 48), (48, 64), (1, 1), (333, 77), (1920, 1080)])
def test_sizes(size):
    picture = paint(ball(), size=size, seconds=1.0, total=1.0)
    assert picture.shape == (size[1], size[0], 3)
    assert amber(picture).any() or size == (1, 1)


def test_what_is_not_in_the_picture_harms_nothing():
    bare = paint(ball(x=50.0), touching=True)
    for place in ((-50.0, 0, 0.5), (0, -40.0, 0.5)):
        np.testing.assert_array_equal(paint(ball(*place), touching=True), bare)
    across = paint(stick((-9, 0, 0.5), (9, 0, 0.5)))
    assert amber(across)[pixel((0, 0, 0.5)).astype(int)[0]].all()
    assert paint(stick((0, -9, 0.5), (0, 9, 0.5))).shape == bare.shape  # past the camera


def test_a_robot_that_is_nowhere():
    with pytest.raises(ValueError, match="not finite"):
        paint(ball(z=np.nan))


def test_limbs():
    #    base - hip - shin   and   base - waist - pelvis, which carries two legs
    parents = [-1, 0, -1, 2, 3, 4, 3]
    assert find_limbs(parents, [-1, 0, 1, 2, 3, 4, 5, 6]).tolist() == [0, 1, 1, 0, 0, 2, 2, 3]
    assert find_limbs([-1, 0, 1, 2], [1, 2, 3]).tolist() == [0, 1, 1]  # a hopper: the torso is the trunk
    assert find_limbs([], [-1]).tolist() == [0]


def test_the_limbs_of_the_robots():
    from gaits.physics.figure import make_figure

    limbs = {name: int(make_figure(task).limbs.max()) for name, task in gaits.TASKS.items() if name in ROBOTS}
    assert limbs == {"qd_ant": 4, "qd_half_cheetah": 2, "qd_hopper": 1, "qd_walker": 2, "qd_humanoid": 4}
    walker = make_figure(gaits.make_task("qd_walker"))
    assert walker.labels == ("right foot", "left foot")
    assert walker.feet.tolist() == [-1, -1, -1, 0, -1, -1, 1]


def test_the_camera_follows_without_shaking():
    line = np.linspace((0, 0), (9, -3), 100)
    np.testing.assert_allclose(follow(line), line)
    shaking = line + np.where(np.arange(100) % 2, 0.1, -0.1)[:, None]
    assert np.abs(follow(shaking) - line)[24:-24].max() < 0.01
    np.testing.assert_allclose(follow(shaking)[[0, -1]], shaking[[0, -1]])


def test_the_colors_are_the_explorers():
    css = (Path(gaits.__file__).parent / "explorer/static/explorer.css").read_text()
    named = {**THEME._asdict(), "mark": MARK, "ink": INK}
    for name in ("sky_top", "sky", "ground", "tile", "contact", "mark", "ink"):
        (day,) = re.findall(rf"--{name.replace('_', '-')}: light-dark\(#(\w+)", css)
        assert named[name] == tuple(bytes.fromhex(day)), name
