"""Pictures of robots made of capsules, without a screen: the look of the explorer, as arrays.

Nothing here knows of tasks or physics. A robot is a ``Figure``, a pose is where both ends of its capsules are, and
``Painter.draw`` makes a picture of them.
"""

from gaits.drawing.camera import follow
from gaits.drawing.figure import Figure, find_limbs
from gaits.drawing.painter import Painter
from gaits.drawing.puppet import Puppet

__all__ = ["Figure", "Painter", "Puppet", "find_limbs", "follow"]
