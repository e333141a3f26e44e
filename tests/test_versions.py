"""Versions of what decides an episode, under whatever name it was installed."""

from __future__ import annotations

import importlib.metadata

import pytest

import gaits
from gaits import versions
from gaits.episodes import EpisodeFailed
from gaits.evaluation.chunks import check_versions


@pytest.fixture
def distributions(monkeypatch):
    """Pretend that the modules come from other distributions."""

    def pretend(table, numbers):
        versions.module_versions.cache_clear()
        monkeypatch.setattr(importlib.metadata, "packages_distributions", lambda: table)
        real = versions._version
        monkeypatch.setattr(versions, "_version", lambda name: numbers.get(name) or real(name))

    yield pretend
    versions.module_versions.cache_clear()


@pytest.fixture
def in_bullet(monkeypatch):
    monkeypatch.setenv("GAITS_PHYSICS", "bullet")


def test_the_engine_needs_nothing_of_others():
    assert set(versions.episode_versions(gaits.make_task("qd_hopper"))) == set(versions.EPISODES)


@pytest.mark.usefixtures("in_bullet")
def test_pybullet_from_any_distribution(distributions):
    task = gaits.make_task("qd_hopper")
    distributions({"pybullet": ["pybullet"]}, {"pybullet": "3.2.7"})
    found = versions.episode_versions(task)
    assert found["pybullet"] == "3.2.7"
    assert "pybullet-arm64" not in found
    with pytest.raises(EpisodeFailed, match=r"A worker has pybullet-arm64 None instead of 3\.2\.8"):
        check_versions({"pybullet-arm64": "3.2.8"}, found)


def test_distributions_that_only_add_to_a_modules_folder_do_not_count(distributions):
    distributions({"pybullet": ["pybullet-more", "pybullet"]}, {"pybullet": "3.2.7", "pybullet-more": "1.0"})
    assert versions.module_versions("pybullet") == {"pybullet": "3.2.7"}


@pytest.mark.usefixtures("in_bullet")
def test_pybullet_from_no_distribution_at_all(distributions):
    distributions({}, {})
    assert versions.run_versions(gaits.make_task("qd_hopper"))["pybullet"] == "unknown"


@pytest.mark.usefixtures("in_bullet")
def test_a_module_that_is_missing_says_how_to_get_it(monkeypatch):
    monkeypatch.setattr(versions.importlib.util, "find_spec", lambda name: None)
    with pytest.raises(ValueError, match=r"qd_hopper needs Bullet, .*: pip install 'gaits\[bullet\]'"):
        versions.episode_versions(gaits.make_task("qd_hopper"))


def test_functions_need_nothing_of_others():
    assert set(versions.episode_versions(gaits.make_task("lp_sphere"))) == set(versions.EPISODES)
