/** The client of one service. */

import { Bulks } from "./bulks.ts";
import { Connection } from "./connection.ts";
import type { ClientOptions, Method, PathOf, ResultOf } from "./connection.ts";
import { Files } from "./files.ts";
import { Links } from "./links.ts";
import { Organization } from "./organization.ts";
import { Endpoints, Pipelines } from "./pipelines.ts";
import { Playback } from "./playback.ts";
import { Renders } from "./renders.ts";
import { Reviews } from "./reviews.ts";
import { Batches, Runs } from "./runs.ts";
import { Streams } from "./streams.ts";
import { Templates } from "./templates.ts";
import { Transcriptions } from "./transcriptions.ts";
import { Videos } from "./videos.ts";
import { Webhooks } from "./webhooks.ts";

export class Client {
  readonly renders: Renders;
  readonly videos: Videos;
  readonly templates: Templates;
  readonly bulks: Bulks;
  readonly files: Files;
  readonly streams: Streams;
  readonly transcriptions: Transcriptions;
  readonly pipelines: Pipelines;
  readonly endpoints: Endpoints;
  readonly runs: Runs;
  readonly batches: Batches;
  readonly reviews: Reviews;
  readonly links: Links;
  readonly playback: Playback;
  readonly webhooks: Webhooks;
  readonly organization: Organization;
  readonly #connection: Connection;

  constructor(options: ClientOptions) {
    const connection = new Connection(options);
    this.#connection = connection;
    this.renders = new Renders(connection);
    this.videos = new Videos(connection);
    this.templates = new Templates(connection);
    this.bulks = new Bulks(connection);
    this.files = new Files(connection);
    this.streams = new Streams(connection);
    this.transcriptions = new Transcriptions(connection);
    this.pipelines = new Pipelines(connection);
    this.endpoints = new Endpoints(connection);
    this.runs = new Runs(connection);
    this.batches = new Batches(connection);
    this.reviews = new Reviews(connection);
    this.links = new Links(connection);
    this.playback = new Playback(connection);
    this.webhooks = new Webhooks(connection);
    this.organization = new Organization(connection);
  }

  /**
   * Sends any request of the API, typed by its path:
   * `client.request("get", "/api/v1/pipeline-runs/{run_id}", { path: { run_id } })`.
   */
  request<M extends Method, P extends PathOf<M>>(
    method: M,
    path: P,
    parts?: Parameters<typeof Connection.prototype.request<M, P>>[2],
  ): Promise<ResultOf<M, P>> {
    return this.#connection.request(method, path, parts);
  }
}
