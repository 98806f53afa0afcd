"""/metrics for Prometheus. Each application has its own counters; nothing is global."""

import hmac
from collections.abc import Sequence
from urllib.parse import urlsplit

import structlog
from fastapi import APIRouter, Request
from fastapi.responses import Response
from prometheus_client import (
    CONTENT_TYPE_LATEST,
    CollectorRegistry,
    Counter,
    Gauge,
    Histogram,
    ProcessCollector,
    generate_latest,
)
from starlette.types import Scope

from framekiln import __version__
from framekiln.api.auth import services_of
from framekiln.api.origins import is_local_host, is_own_host
from framekiln.jobs.model import QueueDepth
from framekiln.kit.errors import Forbidden, FramekilnError
from framekiln.settings import Settings

DURATION_BUCKETS_S = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 60, 600)
METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})
UNMATCHED = "unmatched"

router = APIRouter()

log: structlog.stdlib.BoundLogger = structlog.get_logger(__name__)


class Metrics:
    """The counters of one application, in a registry of its own."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        self._by_labels: dict[tuple[str, str, int], tuple[Counter, Histogram]] = {}
        ProcessCollector(registry=self.registry)
        self.requests = Counter(
            "framekiln_http_requests",
            "Requests answered.",
            ["method", "route", "status"],
            registry=self.registry,
        )
        self.durations = Histogram(
            "framekiln_http_request_duration_seconds",
            "Time from a request to the end of its response, streams included.",
            ["method", "route"],
            buckets=DURATION_BUCKETS_S,
            registry=self.registry,
        )
        self.queue_depth = Gauge(
            "framekiln_queue_depth",
            "Jobs by status, read from the database at the time of the scrape.",
            ["queue", "status"],
            registry=self.registry,
        )
        self.queue_oldest_age = Gauge(
            "framekiln_queue_oldest_age_seconds",
            "How long the oldest runnable job has waited.",
            ["queue"],
            registry=self.registry,
        )
        self.queue_organizations = Gauge(
            "framekiln_queue_organizations",
            "Organizations with waiting jobs.",
            ["queue"],
            registry=self.registry,
        )
        self.quota_refusals = Counter(
            "framekiln_quota_refusals",
            "Requests that were refused because a quota is used up.",
            ["quota"],
            registry=self.registry,
        )
        build = Gauge(
            "framekiln_build_info", "The running version.", ["version"], registry=self.registry
        )
        build.labels(__version__).set(1)

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

    def set_depths(self, depths: Sequence[QueueDepth]) -> None:
        """Replace the queue depths; a queue that no longer exists keeps no old value."""
        self.queue_depth.clear()
        self.queue_oldest_age.clear()
        self.queue_organizations.clear()
        for depth in depths:
            self.queue_depth.labels(depth.queue, "todo").set(depth.todo)
            self.queue_depth.labels(depth.queue, "doing").set(depth.doing)
            self.queue_depth.labels(depth.queue, "failed").set(depth.failed)
            self.queue_oldest_age.labels(depth.queue).set(depth.oldest_age_s)
            self.queue_organizations.labels(depth.queue).set(depth.waiting_organizations)


class MetricsForbidden(Forbidden):
    """A request for the metrics from another machine, or without the token."""

    code = "metrics_forbidden"


@router.get("/metrics", include_in_schema=False)
async def get_metrics(request: Request) -> Response:
    """Answer with all counters and the depth of the queues."""
    require_metrics_reader(request, services_of(request).settings)
    metrics: Metrics = request.app.state.metrics
    try:
        metrics.set_depths(await services_of(request).jobs.depths())
    except FramekilnError as error:
        # The other metrics matter even more while the database is unavailable.
        log.warning("metrics.queue_depths_unknown", error=error.message)
        metrics.set_depths([])
    return Response(generate_latest(metrics.registry), media_type=CONTENT_TYPE_LATEST)


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
