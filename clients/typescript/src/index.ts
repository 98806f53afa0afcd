/** The client of Framekiln for Node, browsers and edge runtimes. */

export { Client } from "./client.ts";
export { FramekilnError, ServiceUnreachable } from "./errors.ts";
export { verifyWebhook } from "./signatures.ts";
export type { WebhookEvent } from "./signatures.ts";
export type { Bulk, BulkOptions, BulkRow, Bulks, CreatedBulk, TableType } from "./bulks.ts";
export type { ClientOptions } from "./connection.ts";
export type { OnFraction } from "./progress.ts";
export type { Files } from "./files.ts";
export type { Link, Links } from "./links.ts";
export type { Organization } from "./organization.ts";
export type { IdempotencyOptions, WaitOptions } from "./part.ts";
export type { Endpoint, Endpoints, Pipeline, PipelineDefinition, Pipelines } from "./pipelines.ts";
export type { Playback } from "./playback.ts";
export type { CreateRender, Render, Renders } from "./renders.ts";
export type { Review, Reviews } from "./reviews.ts";
export type { Batch, Batches, Run, Runs, RunWaitOptions } from "./runs.ts";
export type { components, operations, paths } from "./schema.ts";
export type { Stream, Streams } from "./streams.ts";
export type { CreateTemplate, Template, Templates, TemplateVersion } from "./templates.ts";
export type { Transcription, Transcriptions } from "./transcriptions.ts";
export type { RemoteFile, UploadOptions } from "./uploads.ts";
export type {
  CreateVideo,
  ImageFormat,
  LayerConfig,
  PosterFormat,
  Video,
  Videos,
} from "./videos.ts";
export type { Delivery, Webhook, Webhooks } from "./webhooks.ts";
