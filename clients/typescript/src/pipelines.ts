/** Pipelines with their versions, and the endpoints that their steps call. */

import type { ResultOf } from "./connection.ts";
import { Part } from "./part.ts";
import type { Filter, Item, JsonBody } from "./part.ts";

export type Pipeline = ResultOf<"get", "/api/v1/pipelines/{pipeline_id}">;
export type PipelineVersion = Item<"/api/v1/pipelines/{pipeline_id}/versions">;
export type PipelineDefinition = JsonBody<"/api/v1/pipelines">["definition"];
export type Endpoint = ResultOf<"get", "/api/v1/pipeline-endpoints/{endpoint_id}">;

export class Pipelines extends Part {
  /** Creates a pipeline with its first version; see its `warnings`. */
  create(
    name: string,
    definition: PipelineDefinition,
  ): Promise<ResultOf<"post", "/api/v1/pipelines">> {
    return this.connection.request("post", "/api/v1/pipelines", { body: { name, definition } });
  }

  get(id: string): Promise<Pipeline> {
    return this.connection.request("get", "/api/v1/pipelines/{pipeline_id}", {
      path: { pipeline_id: id },
    });
  }

  /** Yields pipelines, newest first. */
  list(query: Filter<"/api/v1/pipelines"> = {}): AsyncGenerator<Item<"/api/v1/pipelines">> {
    return this.items("/api/v1/pipelines", "pipelines", { query });
  }

  /** Archives a pipeline: it accepts no new versions and runs. */
  archive(id: string): Promise<ResultOf<"post", "/api/v1/pipelines/{pipeline_id}/archive">> {
    const path = { pipeline_id: id };
    return this.connection.request("post", "/api/v1/pipelines/{pipeline_id}/archive", { path });
  }

  /** Returns the version with this definition, and whether it is new. */
  createVersion(
    id: string,
    definition: PipelineDefinition,
  ): Promise<ResultOf<"post", "/api/v1/pipelines/{pipeline_id}/versions">> {
    return this.connection.request("post", "/api/v1/pipelines/{pipeline_id}/versions", {
      path: { pipeline_id: id },
      body: definition as never,
    });
  }

  /** Yields the versions of a pipeline, newest first. */
  versions(id: string): AsyncGenerator<PipelineVersion> {
    return this.items("/api/v1/pipelines/{pipeline_id}/versions", "versions", {
      places: { pipeline_id: id },
    });
  }

  /** Checks a definition without storing it. */
  validate(
    body: JsonBody<"/api/v1/pipelines/validate">,
  ): Promise<ResultOf<"post", "/api/v1/pipelines/validate">> {
    return this.connection.request("post", "/api/v1/pipelines/validate", { body } as never);
  }

  version(
    id: string,
    number: number,
  ): Promise<ResultOf<"get", "/api/v1/pipelines/{pipeline_id}/versions/{number}">> {
    return this.connection.request("get", "/api/v1/pipelines/{pipeline_id}/versions/{number}", {
      path: { pipeline_id: id, number: String(number) },
    });
  }
}

export class Endpoints extends Part {
  /** Registers a service; only this response has the secret that signs requests to it. */
  create(
    body: JsonBody<"/api/v1/pipeline-endpoints">,
  ): Promise<ResultOf<"post", "/api/v1/pipeline-endpoints">> {
    return this.connection.request("post", "/api/v1/pipeline-endpoints", { body });
  }

  get(id: string): Promise<Endpoint> {
    return this.connection.request("get", "/api/v1/pipeline-endpoints/{endpoint_id}", {
      path: { endpoint_id: id },
    });
  }

  /** Yields endpoints, newest first. */
  list(
    query: Filter<"/api/v1/pipeline-endpoints"> = {},
  ): AsyncGenerator<Item<"/api/v1/pipeline-endpoints">> {
    return this.items("/api/v1/pipeline-endpoints", "endpoints", { query });
  }

  /** Archives an endpoint: no new requests are sent to it. */
  archive(
    id: string,
  ): Promise<ResultOf<"post", "/api/v1/pipeline-endpoints/{endpoint_id}/archive">> {
    return this.connection.request("post", "/api/v1/pipeline-endpoints/{endpoint_id}/archive", {
      path: { endpoint_id: id },
    });
  }
}
