"""Published networks are read and sampled correctly, and their blankets are found."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from benchmarks import _networks, blanket
from tamis import HITONPC

TEXT = """
network unknown {
}
variable rain {
  type discrete [ 2 ] { no, yes };
}
variable wet {
  type discrete [ 3 ] { dry, damp, wet };
}
variable sprinkler {
  type discrete [ 2 ] { off, on };
}
probability ( rain ) {
  table 0.75, 0.25;
}
probability ( wet | sprinkler, rain ) {
  (off, no) 0.9, 0.1, 0.0;
  (on, no) 0.0, 0.5, 0.5;
  (off, yes) 0.0, 0.25, 0.75;
  (on, yes) 0.0, 0.0, 1.0;
}
probability ( sprinkler ) {
  table 0.5, 0.5;
}
"""


def test_a_network_is_read_and_sampled() -> None:
    network = _networks.Network.parse(TEXT)
    assert network.names == ["rain", "wet", "sprinkler"]
    assert network.parents == [[], [2, 0], []]
    assert (network.relatives(0), network.blanket(0)) == ({1}, {1, 2})
    assert network.reversed().parents == [[], [0, 2], []]
    assert network.reversed().blanket(2) == {0, 1}
    data = network.sample(40_000)
    assert abs(data[:, 0].mean() - 0.25) < 0.01
    for rain, sprinkler, wanted in ((0, 0, 0.0), (0, 1, 0.5), (1, 0, 0.75), (1, 1, 1.0)):
        rows = (data[:, 0] == rain) & (data[:, 2] == sprinkler)
        assert abs(np.mean(data[rows, 1] == 2) - wanted) < 0.02


def test_the_blankets_of_alarm_are_found() -> None:
    if _networks.folder() is None:
        pytest.skip('the networks come with pgmpy: pip install --no-deps "pgmpy<1"')
    network = _networks.Network.load("alarm")
    found = blanket.judged(network, network.sample(8_000), HITONPC, {"blanket": "full"})
    precision, recall = found.mean(axis=0)[2:]
    assert precision >= 0.9
    assert recall >= 0.9
