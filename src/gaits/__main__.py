"""``python -m gaits`` is ``gaits``."""

import sys

from gaits.cli import main

sys.exit(main())
