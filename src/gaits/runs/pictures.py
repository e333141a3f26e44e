"""A run as a picture, and as what a notebook shows of it."""

from __future__ import annotations

import base64
import html
import io
from typing import TYPE_CHECKING, Any

from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.ticker import EngFormatter

from gaits.archives import summary
from gaits.archives.heatmaps import draw_archive, draw_profile, literal

if TYPE_CHECKING:
    import pandas as pd

    from gaits.runs import Run


class Picture(Figure):
    """A figure that a notebook shows without ``%matplotlib`` or pyplot."""

    def _repr_png_(self) -> bytes:
        file = io.BytesIO()
        self.savefig(file, format="png", dpi=100)
        return file.getvalue()


def draw_run(run: Run) -> Picture:
    """The archive of a run on the left; QD score and coverage over evaluations, and what these cost, on the right."""
    figure = Picture(figsize=(9.6, 4.0), layout="constrained")
    FigureCanvasAgg(figure)
    places = figure.subplot_mosaic([["archive", "qd_score"], ["archive", "coverage"]], width_ratios=(3, 2))
    archive, table = run.objectives, run.metrics
    objective = archive.data("objective")
    limits = (float(objective.min()), float(objective.max())) if len(objective) else run.task.objective_range
    if archive.measure_dim == 1:
        draw_profile(places["archive"], archive, *limits)
        places["archive"].set_xlabel(literal(run.task.measure_names[0]))
    else:
        figure.colorbar(draw_archive(places["archive"], archive, run.task, *limits), ax=places["archive"], label="objective")
    for name, title in (("qd_score", "QD score"), ("coverage", "coverage")):
        ax = places[name]
        ax.plot(table["evaluations"], table[name], color="#0173B2")
        ax.set_ylabel(title)
        ax.set_ylim(bottom=0)
        ax.grid(color="0.9")
        ax.spines[["top", "right"]].set_visible(False)
        ax.xaxis.set_major_formatter(EngFormatter(sep=""))
    places["qd_score"].yaxis.set_major_formatter(EngFormatter(sep=""))
    places["coverage"].set_xlabel("\n".join(filter(None, ("evaluations", spent(table)))))
    title = f"{run.config.name or run.config.algorithm} on {run.task.title}, seed {run.config.seed}"
    figure.suptitle(literal(title))
    return figure


def spent(table: pd.DataFrame) -> str:
    """What all evaluations took: they are not the same price everywhere. Older runs do not know their steps."""
    last: dict[Any, Any] = table.iloc[-1].to_dict() if len(table) else {}
    steps = [f"{EngFormatter(places=1, sep='')(last['steps'])} environment steps"] if last.get("steps", 0) > 0 else []
    time = last.get("seconds", 0) / 3600
    hours = [f"{time:,.{2 if time >= 0.1 else 4}f} hours"] if time > 0 else []
    told = ", ".join([*steps, *hours])
    return told and f"{told} in all"


def describe_run(run: Run) -> str:
    """What a notebook shows of a run: where it is, its numbers and its picture. What cannot be read is said."""
    name = html.escape(f"{run.config.algorithm} on {run.config.task}, seed {run.config.seed}")
    head = f"<b>{name}</b> in <code>{html.escape(str(run.folder))}</code>"
    try:
        numbers = summary(run.objectives, run.task.objective_range[0])
        done, picture = run.saved_evaluations, base64.b64encode(draw_run(run)._repr_png_()).decode()
    except (ValueError, OSError, KeyError) as error:
        return f"<div>{head}<br>{html.escape(str(error))}</div>"
    told = (
        f"{done:,} of {run.config.evaluations:,} evaluations, {numbers['elites']:,.0f} elites, coverage "
        f"{numbers['coverage']:.1%}, QD score {numbers['qd_score']:,.0f}, best {numbers['objective_max']:,.1f}"
    )
    image = f'<img alt="the archive" src="data:image/png;base64,{picture}" style="max-width: 100%">'
    return f"<div>{head}<br>{told}<br>{image}</div>"
