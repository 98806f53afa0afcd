"""How any job of a render ends it badly: at the last try, with the reason, come what may."""

from contextlib import AbstractAsyncContextManager

from framekiln.jobs.ending import failing_for_good
from framekiln.jobs.model import JobContext
from framekiln.kit.ids import RenderId
from framekiln.renders.work import RenderWork


def ending_badly(
    work: RenderWork, render_id: RenderId, job: JobContext
) -> AbstractAsyncContextManager[None]:
    """Fail the render when its job fails for good; while the queue tries again it goes on."""
    return failing_for_good(job, lambda failure: work.fail(render_id, failure))
