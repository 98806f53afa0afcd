/** Webhooks and their deliveries. */

import type { ResultOf } from "./connection.ts";
import { Part } from "./part.ts";
import type { Item, JsonBody } from "./part.ts";

export type Webhook = ResultOf<"get", "/api/v1/webhooks/{webhook_id}">;
export type Delivery = ResultOf<"get", "/api/v1/webhook-deliveries/{delivery_id}">;

export class Webhooks extends Part {
  /** Registers a URL for events; only this response has the secret that signs them. */
  create(body: JsonBody<"/api/v1/webhooks">): Promise<ResultOf<"post", "/api/v1/webhooks">> {
    return this.connection.request("post", "/api/v1/webhooks", { body });
  }

  get(id: string): Promise<Webhook> {
    return this.connection.request("get", "/api/v1/webhooks/{webhook_id}", {
      path: { webhook_id: id },
    });
  }

  /** Yields all webhooks, oldest first. */
  list(): AsyncGenerator<Item<"/api/v1/webhooks">> {
    return this.items("/api/v1/webhooks", "webhooks");
  }

  /** Changes the URL, the topics, or both. */
  update(
    id: string,
    body: JsonBody<"/api/v1/webhooks/{webhook_id}", "patch">,
  ): Promise<ResultOf<"patch", "/api/v1/webhooks/{webhook_id}">> {
    const path = { webhook_id: id };
    return this.connection.request("patch", "/api/v1/webhooks/{webhook_id}", { path, body });
  }

  async delete(id: string): Promise<void> {
    await this.connection.send(`/api/v1/webhooks/${id}`, { method: "DELETE" });
  }

  /** Returns it with a new secret, shown only once; the old one also signs for a day. */
  rotateSecret(
    id: string,
  ): Promise<ResultOf<"post", "/api/v1/webhooks/{webhook_id}/rotate-secret">> {
    return this.connection.request("post", "/api/v1/webhooks/{webhook_id}/rotate-secret", {
      path: { webhook_id: id },
    });
  }

  /** Returns a new secret for the callbacks of videos, shown only once. */
  async rotateCallbackSecret(): Promise<string> {
    return (await this.connection.request("post", "/api/v1/webhooks/callback-secret")).secret;
  }

  /** Resumes a paused webhook and sends pending events. */
  resume(id: string): Promise<ResultOf<"post", "/api/v1/webhooks/{webhook_id}/resume">> {
    const path = { webhook_id: id };
    return this.connection.request("post", "/api/v1/webhooks/{webhook_id}/resume", { path });
  }

  /** Sends a sample event to all matching webhooks of the key. */
  test(topic = "webhook.test"): Promise<ResultOf<"post", "/api/v1/test_webhook">> {
    return this.connection.request("post", "/api/v1/test_webhook", { body: { topic } as never });
  }

  /** Sends `webhook.test` to one webhook, whatever it subscribes to. */
  testOne(id: string): Promise<ResultOf<"post", "/api/v1/webhooks/{webhook_id}/test">> {
    const path = { webhook_id: id };
    return this.connection.request("post", "/api/v1/webhooks/{webhook_id}/test", { path });
  }

  /** Returns all topics, with a sample of each. */
  async topics(): Promise<ResultOf<"get", "/api/v1/webhook-topics">["topics"]> {
    return (await this.connection.request("get", "/api/v1/webhook-topics")).topics;
  }

  /** Yields the deliveries to a webhook, newest first. */
  deliveries(id: string): AsyncGenerator<Item<"/api/v1/webhooks/{webhook_id}/deliveries">> {
    return this.items("/api/v1/webhooks/{webhook_id}/deliveries", "deliveries", {
      places: { webhook_id: id },
    });
  }

  /** Returns a delivery with its body and all attempts. */
  delivery(id: string): Promise<Delivery> {
    return this.connection.request("get", "/api/v1/webhook-deliveries/{delivery_id}", {
      path: { delivery_id: id },
    });
  }

  /** Sends the same event again; returns the new delivery. */
  redeliver(
    id: string,
  ): Promise<ResultOf<"post", "/api/v1/webhook-deliveries/{delivery_id}/redeliver">> {
    return this.connection.request("post", "/api/v1/webhook-deliveries/{delivery_id}/redeliver", {
      path: { delivery_id: id },
    });
  }
}
