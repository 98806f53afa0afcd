"""`framekiln webhooks`: subscriptions to events."""

from typing import Annotated

import typer

from framekiln.cli import webhook_deliveries
from framekiln.cli.output import JsonFlag, write_json, write_line, write_table
from framekiln.cli.service_client import open_client
from framekiln.client.model import RemoteWebhook
from framekiln.client.webhooks import WebhookScope
from framekiln.kit.errors import InvalidInput

app = typer.Typer(
    help="Manage webhooks and their deliveries.", no_args_is_help=True, add_completion=False
)
app.add_typer(webhook_deliveries.app, name="deliveries")

WebhookId = Annotated[str, typer.Argument(help="Id of the webhook.")]
Events = Annotated[
    list[str] | None,
    typer.Option("--event", help="A topic, or a pattern like render.*; repeatable."),
]


@app.command("list")
def list_all(as_json: JsonFlag = False) -> None:
    """Show all webhooks, oldest first."""
    with open_client() as client:
        found = list(client.webhooks.list())
    if as_json:
        write_json([dict(each.raw) for each in found])
        return
    rows = [(each.id, each.state, each.url, " ".join(each.events), each.reason) for each in found]
    write_table(("id", "state", "url", "events", "reason"), rows)


@app.command()
def get(webhook: WebhookId, as_json: JsonFlag = False) -> None:
    """Show a webhook, without its secret."""
    with open_client() as client:
        _show(client.webhooks.get(webhook), as_json=as_json)


@app.command()
def create(
    url: Annotated[str, typer.Argument(help="URL that receives the events.")],
    event: Events = None,
    own_key: Annotated[
        bool,
        typer.Option(
            "--own-key",
            help="Only events of FRAMEKILN_API_KEY; by default all of the organization.",
        ),
    ] = False,
    as_json: JsonFlag = False,
) -> None:
    """Create a webhook and show its signing secret. It is not shown again."""
    if not event:
        raise InvalidInput("give at least one --event: framekiln webhooks topics lists them")
    with open_client() as client:
        # Commands may have a temporary key of their own, so the default scope is the organization.
        scope: WebhookScope = "api_key" if own_key else "organization"
        _show(client.webhooks.create(url, event, scope=scope), as_json=as_json)


@app.command()
def update(
    webhook: WebhookId,
    url: Annotated[str | None, typer.Option(help="New URL that receives the events.")] = None,
    event: Events = None,
    as_json: JsonFlag = False,
) -> None:
    """Change the URL or the topics of a webhook."""
    if url is None and not event:
        raise InvalidInput("give --url or --event to change")
    with open_client() as client:
        _show(client.webhooks.update(webhook, url=url, events=event or None), as_json=as_json)


@app.command()
def delete(webhook: WebhookId) -> None:
    """Delete a webhook with its log and pending deliveries."""
    with open_client() as client:
        client.webhooks.delete(webhook)
    write_line(f"{webhook}  deleted")


@app.command("rotate-secret")
def rotate_secret(webhook: WebhookId, as_json: JsonFlag = False) -> None:
    """Create a new signing secret and show it once. The old one stays valid for a day."""
    with open_client() as client:
        _show(client.webhooks.rotate_secret(webhook), as_json=as_json)


@app.command()
def resume(webhook: WebhookId, as_json: JsonFlag = False) -> None:
    """Resume a paused webhook, starting with its pending deliveries."""
    with open_client() as client:
        _show(client.webhooks.resume(webhook), as_json=as_json)


@app.command("test")
def send_test(
    topic: Annotated[str, typer.Argument(help="The topic of the sample event.")] = "webhook.test",
) -> None:
    """Send a sample event to all webhooks with its topic."""
    with open_client() as client:
        write_line(client.webhooks.test(topic))


@app.command()
def topics(as_json: JsonFlag = False) -> None:
    """List all topics; with --json, with a sample event of each."""
    with open_client() as client:
        found = list(client.webhooks.topics())
    if as_json:
        write_json(found)
        return
    write_table(("topic", "meaning"), [(each["topic"], each["meaning"]) for each in found])


def _show(found: RemoteWebhook, *, as_json: bool) -> None:
    if as_json:
        write_json(dict(found.raw))
        return
    write_line(f"{found.id}  {found.state}  {found.url}  {' '.join(found.events)}")
    if found.reason:
        typer.echo(found.reason, err=True)
    if found.secret:
        write_line(found.secret)
