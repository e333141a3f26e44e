"""What to do with a trained repertoire: ``gaits explore``, ``demo``, ``adapt``, ``video`` and ``export``."""

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

from tyro.conf import Positional, arg

from gaits.commands.options import OwnTask, Workers, import_tasks, print_table
from gaits.console import command, tell

DAMAGE = "Weakened joints, such as bfoot=0.3: the strength that is left, from 0 (limp) to 1 (sound)."
Host = Annotated[str, arg(help="Address to listen on. 127.0.0.1 can be reached from this machine only.")]
Port = Annotated[int, arg(help="Port to listen on; 0 is any free one.")]
Browser = Annotated[bool, arg(help="Open the page in the browser, if there is one.")]
Export = Annotated[Path | None, arg(metavar="FILE", help="Instead, write one HTML file that works without a server.")]
FRICTION = "Slippery feet, such as bfoot=0.1: a factor on the foot's friction; 0 is ice."


def adapt(
    run: Annotated[Positional[Path], arg(metavar="RUN", help="Folder of the run.")],
    *,
    damage: Annotated[tuple[str, ...], arg(metavar="JOINT=FACTOR ...", help=DAMAGE)] = (),
    friction: Annotated[tuple[str, ...], arg(metavar="FOOT=FACTOR ...", help=FRICTION)] = (),
    trials: Annotated[int, arg(help="The most trials on the damaged robot; a trial is one episode of one policy.")] = 20,
    episodes: Annotated[int, arg(help="New episodes of each policy chosen, to tell it from a lucky one.")] = 10,
    exhaustive: Annotated[bool, arg(help="Also try every policy, to know the best there was. Takes longest.")] = True,
    seed: Annotated[int, arg(help="Same seed, same answer.")] = 42,
    workers: Workers = None,
    out: Annotated[Path | None, arg(help="Folder for adapt.json and adapt.png; default: RUN/adapt.")] = None,
    json: Annotated[bool, arg(help="Print JSON, and nothing else, on stdout.")] = False,
) -> None:
    """Damage the robot, then find, with few trials, a policy of the archive that still walks.

    Example: gaits adapt runs/qd_half_cheetah-pga_me-seed1 --damage bfoot=0 bshin=0.5

    Example: gaits adapt runs/qd_walker-pga_me-seed1 --friction foot_left=0.1 --no-exhaustive
    """
    from gaits.adaptation import recovery
    from gaits.adaptation.damage import parse_damage
    from gaits.adaptation.search import adapt as find
    from gaits.progress import make_counter
    from gaits.runs.files import check_folder, check_output

    wrong = parse_damage(damage, friction)
    folder = out or run / "adapt"
    if (run / "config.json").exists():  # else that is what to say
        check_folder(folder)
        check_output(folder / "adapt.json")
    with make_counter("episodes", sys.stderr if json else sys.stdout) as progress:
        found = find(
            run,
            wrong,
            trials=trials,
            episodes=episodes,
            exhaustive=exhaustive,
            seed=seed,
            workers=workers,
            progress=progress,
        )
    text = recovery.save(found, folder)
    if json:
        tell(text, end="")
        return
    print_table(recovery.table(found))
    tell("\n".join(["", *recovery.sentences(found), f"Look at {folder / 'adapt.png'}. Watch the policy with:"]))
    words = [word for name, values in (("--damage", damage), ("--friction", friction)) if values for word in (name, *values)]
    tell("  " + command("video", run, "--cell", found.cell(), *words))


def video(
    run: Annotated[Positional[Path], arg(metavar="RUN", help="Folder of the run.")],
    *,
    cell: Annotated[
        tuple[str, ...],
        arg(
            aliases=("--cells",), metavar="I,J ...", help="Cells such as 3,12, or plain indices; several play side by side."
        ),
    ] = (),
    best: Annotated[bool, arg(help="The best policy, as without --cell; with it, before the others.")] = False,
    out: Annotated[
        Path | None, arg(metavar="FILE", help="An .mp4 or .gif file; default: best.mp4 or cell-I-J.mp4 in the run's folder.")
    ] = None,
    seed: Annotated[int | None, arg(help="Seed of another episode, the same for all; default: as recorded.")] = None,
    fps: Annotated[int, arg(help="Frames per second; always real time.")] = 30,
    size: Annotated[
        tuple[int, int] | None, arg(metavar="W H", help="Size of each picture; default: 480 360, of several 320 240.")
    ] = None,
    seconds: Annotated[float | None, arg(help="Stop after so many seconds; default: when the last episode ends.")] = None,
    damage: Annotated[tuple[str, ...], arg(metavar="JOINT=FACTOR ...", help=DAMAGE)] = (),
    friction: Annotated[tuple[str, ...], arg(metavar="FOOT=FACTOR ...", help=FRICTION)] = (),
    task: OwnTask = (),
) -> None:
    """Film policies of an archive: the best, a cell, or several side by side. An mp4 needs gaits[video] or ffmpeg.

    Example: gaits video runs/qd_walker-pga_me-seed1 --cells 3,12 20,8 31,31 --seconds 5

    Example: gaits video runs/qd_walker-pga_me-seed1 --out best.gif --fps 20
    """
    from gaits.adaptation.damage import parse_damage
    from gaits.progress import make_counter
    from gaits.video import make_video

    import_tasks(task)
    wrong = parse_damage(damage, friction)
    options: dict[str, Any] = {"out": out, "seed": seed, "fps": fps, "size": size, "seconds": seconds, "damage": wrong}
    with make_counter("frames") as progress:
        made = make_video(run, cell, best=best, progress=progress, **options)
    for played in made.played:
        ended = "fell" if played.fell else "ended"
        tell(f"cell {played.cell}: return {played.episode.objective:,.1f}, {ended} after {played.seconds:.1f} s")
    tell(f"{made.path}: {made.seconds:.1f} s, {made.path.stat().st_size / 1e6:.1f} MB")
    tell("Take a policy out with:\n  " + command("export", run, "--cell", made.played[0].cell))


def export(
    run: Annotated[Positional[Path], arg(metavar="RUN", help="Folder of the run.")],
    *,
    cell: Annotated[str | None, arg(metavar="I,J", help="A cell such as 3,12, or a plain index; default: the best.")] = None,
    best: Annotated[bool, arg(help="The best policy, as without --cell; by its mean, if the run was evaluated.")] = False,
    conditioned: Annotated[
        bool, arg(help="The one policy that takes the wanted measures, of a run that has one, such as dcrl_me's.")
    ] = False,
    out: Annotated[
        Path | None, arg(metavar="FILE", help="An .npz, .safetensors or .onnx file; default: an .npz in the run's folder.")
    ] = None,
) -> None:
    """Take one policy out of an archive, as a file that runs without gaits.

    .safetensors needs gaits[safetensors], .onnx needs gaits[onnx].

    Example: gaits export runs/qd_walker-pga_me-seed1 --cell 3,12 --out policy.onnx

    Example: gaits export runs/qd_walker-dcrl_me-seed1 --conditioned
    """
    from gaits.export import export_policy

    if best + conditioned + (cell is not None) > 1:
        raise ValueError("Give one of --best, --conditioned and --cell.")
    path, about = export_policy(run, cell, out, conditioned=conditioned)
    if conditioned:
        ranges = zip(about["measure_names"], about["measure_ranges"], strict=True)
        asked = ", ".join(f"{name} from {low:g} to {high:g}" for name, (low, high) in ranges)
        tell(f"{path}: one policy that takes an observation and, after it, the wanted measures: {asked}")
        tell("Ask it for any cell in the browser with:\n  " + command("explore", run))
        return
    measures = ", ".join(f"{name} {v:.2f}" for name, v in zip(about["measure_names"], about["measures"], strict=True))
    again = ""
    if "new_episodes" in about:
        again = f", mean of {about['new_episodes']} new episodes {about['mean_of_new_episodes']:,.1f}"
    tell(f"{path}: cell {about['cell']}, objective {about['objective']:,.1f}{again}, {measures}")
    if "actions" in about:  # a robot whose parts have names, and that can be drawn
        tell(f"{len(about['observations'])} observations, {len(about['actions'])} actions: {', '.join(about['actions'])}")
        tell("Watch it with:\n  " + command("video", run, "--cell", about["cell"]))


def explore(
    runs: Annotated[Positional[tuple[Path, ...]], arg(metavar="RUN", help="Folders of runs, or of studies.")],
    *,
    host: Host = "127.0.0.1",
    port: Port = 0,
    browser: Browser = True,
    export: Export = None,
    task: OwnTask = (),
    cells: Annotated[
        tuple[str, ...],
        arg(help="Cells whose policies the file has, such as 3,12; default: a dozen of the best, well spread."),
    ] = (),
) -> None:
    """Look at archives in the browser: click a cell and watch that policy walk. Needs gaits[explore].

    Example: gaits explore runs/qd_walker-pga_me-seed1

    Example: gaits explore runs/study --export study.html
    """
    import_tasks(task)
    if not runs:
        raise ValueError("Give at least one run's folder.")
    if cells and export is None:
        raise ValueError("--cells are for --export; the page itself can play every cell.")
    show(runs, host, port, browser, export, cells)


def demo(
    *,
    host: Host = "127.0.0.1",
    port: Port = 0,
    browser: Browser = True,
    export: Export = None,
) -> None:
    """Look at two repertoires that come with gaits, trained already: dozens of ways to run and to hop. Needs gaits[explore].

    Example: gaits demo

    Example: gaits demo --export demo.html
    """
    from gaits.explorer.launch import find_demo

    show(find_demo(), host, port, browser, export, ())


def show(runs: Sequence[Path], host: str, port: int, browser: bool, export: Path | None, cells: Sequence[str]) -> None:
    """The page about these runs, served or written to a file."""
    from gaits.explorer.launch import find_records, serve
    from gaits.progress import make_counter

    records = find_records(runs)
    if export is None:
        serve(records, host, port, browser)
        return
    from gaits.explorer.export import export as write

    with make_counter("episodes played") as progress:
        n = write(records, export, cells, progress)
    tell(f"{export}: {export.stat().st_size / 1e6:.1f} MB, {n} policies to watch. Open it in any browser.")
