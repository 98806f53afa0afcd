"""`framekiln webhooks deliveries`: deliveries to a webhook, and its responses."""

from itertools import islice
from typing import Annotated

import typer

from framekiln.cli.output import JsonFlag, write_json, write_line, write_table
from framekiln.cli.service_client import open_client
from framekiln.client.model import RemoteDelivery

app = typer.Typer(
    help="Show deliveries and send them again.", no_args_is_help=True, add_completion=False
)

DeliveryId = Annotated[str, typer.Argument(help="Id of the delivery.")]


@app.command("list")
def list_all(
    webhook: Annotated[str, typer.Argument(help="Id of the webhook.")],
    limit: Annotated[int, typer.Option(help="Maximum number of deliveries.", min=1)] = 20,
    as_json: JsonFlag = False,
) -> None:
    """List the deliveries of a webhook, newest first."""
    with open_client() as client:
        found = list(islice(client.webhooks.deliveries(webhook), limit))
    if as_json:
        write_json([dict(each.raw) for each in found])
        return
    rows = [
        (
            each.id,
            each.status,
            each.topic,
            each.attempt_count,
            each.raw["created_at"],
            each.last_error,
        )
        for each in found
    ]
    write_table(("id", "status", "topic", "attempts", "created", "error"), rows)


@app.command()
def get(delivery: DeliveryId, as_json: JsonFlag = False) -> None:
    """Show a delivery: its payload and each attempt."""
    with open_client() as client:
        found = client.webhooks.delivery(delivery)
    _show(found, as_json=as_json)
    if as_json:
        return
    for each in found.raw["attempts"]:
        outcome = each["error"] or each["status"]
        write_line(f"{each['number']}  {each['started_at']}  {each['duration_ms']} ms  {outcome}")
    write_line(found.raw["request_body"])


@app.command()
def redeliver(delivery: DeliveryId, as_json: JsonFlag = False) -> None:
    """Send the same event again."""
    with open_client() as client:
        _show(client.webhooks.redeliver(delivery), as_json=as_json)


def _show(found: RemoteDelivery, *, as_json: bool) -> None:
    if as_json:
        write_json(dict(found.raw))
    else:
        write_line(f"{found.id}  {found.status}  {found.topic}  webhook {found.webhook_id}")
