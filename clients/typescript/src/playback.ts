/** Playback of any source: its manifests, and the presets. */

import type { ResultOf } from "./connection.ts";
import { Part, withQuery } from "./part.ts";

export class Playback extends Part {
  /** Returns the HLS playlist of a source; players get its address in a link. */
  async hls(sourceUrl: string): Promise<string> {
    const address = withQuery("/api/v1/transcode/manifest.m3u8", { url: sourceUrl });
    return (await this.media(address)).text();
  }

  /** Returns the DASH manifest of a source. */
  async dash(sourceUrl: string): Promise<string> {
    const address = withQuery("/api/v1/transcode/manifest.mpd", { url: sourceUrl });
    return (await this.media(address)).text();
  }

  /** Returns the renditions of a source and their segments. */
  manifest(sourceUrl: string): Promise<ResultOf<"get", "/api/v1/transcode/manifest.json">> {
    const query = { url: sourceUrl };
    return this.connection.request("get", "/api/v1/transcode/manifest.json", { query });
  }

  /** Returns the renditions that a source may have. */
  presets(): Promise<ResultOf<"get", "/api/v1/transcode/presets">> {
    return this.connection.request("get", "/api/v1/transcode/presets");
  }
}
