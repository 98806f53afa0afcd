/** Nodes that only a real-time context has: sound of elements and of live streams. */

import type { RenderedContext } from "./rendered_context.ts";

const STREAMS = "a film has no live streams: what comes from a MediaStream is silent";

/** The sound of an element. */
export function elementSource(context: RenderedContext, mediaElement: HTMLMediaElement): AudioNode {
  if (!(mediaElement instanceof HTMLMediaElement)) {
    throw new TypeError("createMediaElementSource: the parameter is no HTMLMediaElement");
  }
  const prototype = MediaElementAudioSourceNode.prototype;
  const node = standIn(context, prototype, { mediaElement });
  context.addElement(node, mediaElement);
  return node;
}

export function streamSource(context: RenderedContext, mediaStream: MediaStream): AudioNode {
  context.film.warn(STREAMS);
  return standIn(context, MediaStreamAudioSourceNode.prototype, { mediaStream });
}

export function streamDestination(context: RenderedContext): AudioNode {
  const stream = new MediaStream();
  return standIn(context, MediaStreamAudioDestinationNode.prototype, { stream });
}

/** Scripts may also make these nodes with `new`. */
export function replaceMediaNodes(): void {
  replaceNode("MediaElementAudioSourceNode", (context, options) =>
    context.createMediaElementSource(options?.["mediaElement"] as HTMLMediaElement),
  );
  replaceNode("MediaStreamAudioSourceNode", (context, options) =>
    context.createMediaStreamSource(options?.["mediaStream"] as MediaStream),
  );
  replaceNode("MediaStreamAudioDestinationNode", (context) =>
    context.createMediaStreamDestination(),
  );
}

type Options = Record<string, unknown> | undefined;

function replaceNode(
  name: string,
  make: (context: AudioContext, options: Options) => AudioNode,
): void {
  const page = window as unknown as Record<string, object>;
  const node = page[name];
  if (node === undefined) return;
  const construct = (_: object, [context, options]: unknown[]): AudioNode =>
    make(context as AudioContext, options as Options);
  page[name] = new Proxy(node, { construct });
}

/** A node that lets pass what comes in, and looks like one of another kind. */
function standIn(
  context: RenderedContext,
  prototype: object,
  members: Record<string, unknown>,
): AudioNode {
  const node = new GainNode(context.native);
  Object.setPrototypeOf(node, prototype);
  for (const [name, value] of Object.entries(members)) {
    Object.defineProperty(node, name, { value, enumerable: true });
  }
  return node;
}
