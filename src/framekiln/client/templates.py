"""Templates on the service: layer configs with named inputs, in versions."""

from collections.abc import Mapping
from typing import Any, Final

from framekiln.client.model import RemoteTemplate, RemoteTemplateVersion, RemoteVideo
from framekiln.client.operations import (
    Connection_co,
    Items,
    RemotePart,
    Send,
    Steps,
    listing,
    operation,
)
from framekiln.client.responses import Json
from framekiln.client.videos import Destinations, destinations_body

_TEMPLATES: Final = "/v2/templates"


class RemoteTemplates(RemotePart[Connection_co]):
    """The templates of an organization."""

    @operation
    def create(
        self,
        name: str,
        config: Mapping[str, Any],
        *,
        inputs: Mapping[str, Any] | None = None,
        default_values: Mapping[str, Any] | None = None,
        destinations: Destinations = None,
    ) -> Steps[RemoteTemplate]:
        """Store a layer config with named inputs; see its `warnings`."""
        body = _template_body(name, config, inputs, default_values)
        body |= destinations_body(destinations)
        # Without retries: a second attempt could store it twice.
        return _template((yield from self._read_once("POST", _TEMPLATES, json=body)))

    @operation
    def update(
        self,
        template_id: str,
        name: str,
        config: Mapping[str, Any],
        *,
        inputs: Mapping[str, Any] | None = None,
        default_values: Mapping[str, Any] | None = None,
        destinations: Destinations = None,
    ) -> Steps[RemoteTemplate]:
        """Make the next version of a template; earlier ones are kept."""
        body = _template_body(name, config, inputs, default_values)
        body |= destinations_body(destinations)
        # Without retries: a second attempt could make a second version.
        path = f"{_TEMPLATES}/{template_id}"
        return _template((yield from self._read_once("PUT", path, json=body)))

    @operation
    def get(self, template_id: str) -> Steps[RemoteTemplate]:
        """Return a template."""
        raw = yield from self._read("GET", f"{_TEMPLATES}/{template_id}")
        return RemoteTemplate.of(raw["data"])

    @listing
    def list(self) -> Items[RemoteTemplate]:
        """Yield templates, newest first."""
        return self._numbered_items(_TEMPLATES, RemoteTemplate.of)

    @listing
    def versions(self, template_id: str) -> Items[RemoteTemplateVersion]:
        """Yield the versions of a template, newest first."""
        return self._numbered_items(
            f"{_TEMPLATES}/{template_id}/versions", RemoteTemplateVersion.of
        )

    @operation
    def version(self, template_id: str, number: int) -> Steps[RemoteTemplateVersion]:
        """Return a version; its `raw` has `config`, `inputs` and `default_values`."""
        raw = yield from self._read("GET", f"{_TEMPLATES}/{template_id}/versions/{number}")
        return RemoteTemplateVersion.of(raw["data"])

    @operation
    def check(
        self,
        config: Mapping[str, Any],
        *,
        inputs: Mapping[str, Any] | None = None,
        default_values: Mapping[str, Any] | None = None,
        data: Mapping[str, Any] | None = None,
    ) -> Steps[Json]:
        """Check a template without storing it; return its `schema` and `warnings`.

        `parsed_config` is the config filled with `data`; it is empty without data.
        """
        body = _template_body("", config, inputs, default_values)
        del body["name"]
        if data is not None:
            body["data"] = dict(data)
        raw = yield from self._read("POST", f"{_TEMPLATES}/check", json=body)
        return {**raw["data"], "warnings": raw.get("warnings", [])}

    @operation
    def schema(self, template_id: str, *, version: int | None = None) -> Steps[Json]:
        """Return the JSON Schema of the data of a template, by default of its latest version."""
        asked = {} if version is None else {"version": version}
        return (yield from self._read("GET", f"{_TEMPLATES}/{template_id}/schema", params=asked))

    @operation
    def render(
        self,
        template_id: str,
        data: Mapping[str, Any],
        *,
        version: int | None = None,
        destinations: Destinations = None,
    ) -> Steps[RemoteVideo]:
        """Fill a template, by default its latest version, with data and create the video."""
        # Without retries: a second attempt could create a second video.
        path = f"{_TEMPLATES}/{template_id}/render"
        body: Json = {"data": dict(data)} | destinations_body(destinations)
        if version is not None:
            body["version"] = version
        raw = yield from self._read_once("POST", path, json=body)
        return RemoteVideo.of({"warnings": raw.get("warnings", []), **raw["data"]["video"]})

    @operation
    def delete(self, template_id: str) -> Steps[None]:
        """Delete a template; its videos are kept."""
        # Without retries: after a deletion, a second attempt gets an error.
        yield Send("DELETE", f"{_TEMPLATES}/{template_id}")


def _template_body(
    name: str,
    config: Mapping[str, Any],
    inputs: Mapping[str, Any] | None,
    default_values: Mapping[str, Any] | None,
) -> Json:
    return {
        "name": name,
        "config": dict(config),
        "inputs": dict(inputs or {}),
        "default_values": dict(default_values or {}),
    }


def _template(raw: Json) -> RemoteTemplate:
    return RemoteTemplate.of({**raw["data"], "warnings": raw.get("warnings", [])})
