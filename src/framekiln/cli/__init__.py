"""The command line, `framekiln`: starts the service, and has commands for users and operators.

The program is `cli/program`: the process that makes a film needs no command line.
"""

import os

from framekiln.kit.garbage import skip_last_collection

# Nothing here multiplies matrices, but numpy starts a thread for each core when it is imported.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
skip_last_collection()
