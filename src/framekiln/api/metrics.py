"""/metrics for Prometheus. Each application has its own counters; nothing is global."""

import hmac
import os
from collections.abc import Iterator, Sequence
from urllib.parse import urlsplit

import structlog
from fastapi import APIRouter, Request
from fastapi.responses import Response
from prometheus_client import (
    CONTENT_TYPE_LATEST,
    CollectorRegistry,
    Counter,
    Histogram,
    ProcessCollector,
    generate_latest,
)
from prometheus_client.core import GaugeMetricFamily, Metric
from prometheus_client.multiprocess import MultiProcessCollector
from prometheus_client.registry import Collector
from starlette.types import Scope

from framekiln import __version__
from framekiln.api.auth import services_of
from framekiln.api.origins import is_local_host, is_own_host
from framekiln.jobs.model import QueueDepth
from framekiln.kit.errors import Forbidden, FramekilnError
from framekiln.renders.model import FrameCounts
from framekiln.settings import METRICS_FOLDER_VARIABLE, Settings

DURATION_BUCKETS_S = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 60, 600)
METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})
UNMATCHED = "unmatched"

router = APIRouter()

log: structlog.stdlib.BoundLogger = structlog.get_logger(__name__)


class Metrics(Collector):
    """The counters of one application, in a registry of its own.

    Several processes at one address keep them in files, and each answers with the sum.
    """

    def __init__(self) -> None:
        self._counted = CollectorRegistry()
        self._current = CollectorRegistry()
        self._by_labels: dict[tuple[str, str, int], tuple[Counter, Histogram]] = {}
        self._depths: Sequence[QueueDepth] = ()
        self._frames: FrameCounts | None = None
        self._current.register(self)
        self._folder = os.environ.get(METRICS_FOLDER_VARIABLE)
        if self._folder is None:
            ProcessCollector(registry=self._current)
        self.requests = Counter(
            "framekiln_http_requests",
            "Requests answered.",
            ["method", "route", "status"],
            registry=self._counted,
        )
        self.durations = Histogram(
            "framekiln_http_request_duration_seconds",
            "Time from a request to the end of its response, streams included.",
            ["method", "route"],
            buckets=DURATION_BUCKETS_S,
            registry=self._counted,
        )
        self.quota_refusals = Counter(
            "framekiln_quota_refusals",
            "Requests that were refused because a quota is used up.",
            ["quota"],
            registry=self._counted,
        )

    def encode(self, depths: Sequence[QueueDepth], frames: FrameCounts | None) -> bytes:
        """Return all metrics as text, with these depths of the queues and counts of frames."""
        self._depths, self._frames = depths, frames
        counted = self._counted
        if self._folder is not None:
            counted = CollectorRegistry()
            MultiProcessCollector(counted, path=self._folder)  # type: ignore[no-untyped-call]
        return generate_latest(self._current) + generate_latest(counted)

    def collect(self) -> Iterator[Metric]:
        """Yield what is not counted: the version, and the queues."""
        build = GaugeMetricFamily(
            "framekiln_build_info", "The running version.", labels=["version"]
        )
        build.add_metric([__version__], 1)
        depth = GaugeMetricFamily(
            "framekiln_queue_depth",
            "Jobs by status, read from the database at the time of the scrape.",
            labels=["queue", "status"],
        )
        age = GaugeMetricFamily(
            "framekiln_queue_oldest_age_seconds",
            "How long the oldest runnable job has waited.",
            labels=["queue"],
        )
        organizations = GaugeMetricFamily(
            "framekiln_queue_organizations", "Organizations with waiting jobs.", labels=["queue"]
        )
        for each in self._depths:
            depth.add_metric([each.queue, "todo"], each.todo)
            depth.add_metric([each.queue, "doing"], each.doing)
            depth.add_metric([each.queue, "failed"], each.failed)
            age.add_metric([each.queue], each.oldest_age_s)
            organizations.add_metric([each.queue], each.waiting_organizations)
        yield from (build, depth, age, organizations)
        if self._frames is not None:
            yield from _frame_metrics(self._frames)

    def count_request(self, scope: Scope, *, status: int, duration_s: float) -> None:
        """Add one request under its route's template, which limits the number of labels."""
        method = scope["method"] if scope["method"] in METHODS else "other"
        route = getattr(scope.get("route"), "path_format", UNMATCHED)
        key = (method, route, status)
        found = self._by_labels.get(key)
        if found is None:
            # There are no more of them than metrics.
            found = self._by_labels[key] = (
                self.requests.labels(method, route, status or "none"),
                self.durations.labels(method, route),
            )
        requests, durations = found
        requests.inc()
        durations.observe(duration_s)


def _frame_metrics(frames: FrameCounts) -> Iterator[Metric]:
    made = GaugeMetricFamily(
        "framekiln_film_frames",
        "Frames of the films of the last day: captured from Chromium, or composed from layers.",
        labels=["method"],
    )
    made.add_metric(["captured"], frames.captured)
    made.add_metric(["composed"], frames.composed)
    yield made
    yield GaugeMetricFamily(
        "framekiln_film_differing_slices",
        "Slices of the last day that were filmed because composed frames looked different.",
        value=frames.differing_slices,
    )
    yield GaugeMetricFamily(
        "framekiln_film_reused_slices",
        "Slices of the last day that were copied from films with an equal one.",
        value=frames.reused_slices,
    )


class MetricsForbidden(Forbidden):
    """A request for the metrics from another machine, or without the token."""

    code = "metrics_forbidden"


@router.get("/metrics", include_in_schema=False)
async def get_metrics(request: Request) -> Response:
    """Answer with all counters and the depth of the queues."""
    require_metrics_reader(request, services_of(request).settings)
    metrics: Metrics = request.app.state.metrics
    depths: Sequence[QueueDepth] = ()
    frames: FrameCounts | None = None
    try:
        depths = await services_of(request).jobs.depths()
        frames = await services_of(request).renders.frame_counts()
    except FramekilnError as error:
        # The other metrics matter even more while the database is unavailable.
        log.warning("metrics.queue_depths_unknown", error=error.message)
    return Response(metrics.encode(depths, frames), media_type=CONTENT_TYPE_LATEST)


def require_metrics_reader(request: Request, settings: Settings) -> None:
    """Refuse the metrics to strangers; they show what every organization does.

    Behind a proxy every request seems to come from this machine. So without a token, it is allowed
    only while the service has no address but a local one.
    """
    if settings.metrics_token is not None:
        scheme, _, given = request.headers.get("authorization", "").partition(" ")
        wanted = settings.metrics_token.encode()
        if scheme.lower() == "bearer" and hmac.compare_digest(given.strip().encode(), wanted):
            return
        raise MetricsForbidden("/metrics needs `Authorization: Bearer <FRAMEKILN_METRICS_TOKEN>`")
    is_here = request.client is not None and is_local_host(request.client.host)
    is_ours = is_own_host(request.headers.get("host", "").lower(), settings)
    is_public = settings.base_url is not None and not is_local_host(
        urlsplit(settings.base_url).hostname or ""
    )
    if not is_here or not is_ours or is_public:
        raise MetricsForbidden(
            "/metrics needs a token, except from this machine while FRAMEKILN_BASE_URL is local:"
            " set FRAMEKILN_METRICS_TOKEN and send `Authorization: Bearer <token>`"
        )
