/** Defines all elements, and keeps their names: a page that brings its own gets ours instead. */

import { AudioElement } from "./audio.ts";
import {
  CaptionsActiveWord,
  CaptionsAfterActiveWord,
  CaptionsBeforeActiveWord,
  CaptionsSegment,
} from "./caption_parts.ts";
import { CaptionsElement } from "./captions.ts";
import { ConfigurationElement } from "./configuration.ts";
import { ImageElement } from "./image.ts";
import { controlClass, CONTROLS, wrapperClass, WRAPPERS } from "./inert.ts";
import { MotionBlurElement } from "./motion_blur.ts";
import { PanZoomElement } from "./pan_zoom.ts";
import { SurfaceElement } from "./surface.ts";
import { TextElement } from "./text.ts";
import { TextSegment } from "./text_segment.ts";
import { TimegroupElement } from "./timegroup.ts";
import { VideoElement } from "./video.ts";
import { WaveformElement } from "./waveform.ts";

const ELEMENTS: Readonly<Record<string, CustomElementConstructor>> = {
  "ef-timegroup": TimegroupElement,
  "ef-video": VideoElement,
  "ef-audio": AudioElement,
  "ef-image": ImageElement,
  "ef-text": TextElement,
  "ef-text-segment": TextSegment,
  "ef-captions": CaptionsElement,
  "ef-captions-active-word": CaptionsActiveWord,
  "ef-captions-before-active-word": CaptionsBeforeActiveWord,
  "ef-captions-after-active-word": CaptionsAfterActiveWord,
  "ef-captions-segment": CaptionsSegment,
  "ef-waveform": WaveformElement,
  "ef-surface": SurfaceElement,
  "ef-motionblur": MotionBlurElement,
  "ef-configuration": ConfigurationElement,
  "ef-pan-zoom": PanZoomElement,
};

export function registerElements(): void {
  const define = customElements.define.bind(customElements);
  for (const [name, element] of Object.entries(ELEMENTS)) define(name, element);
  for (const name of WRAPPERS) define(name, wrapperClass());
  for (const name of CONTROLS) define(name, controlClass());
  customElements.define = (name, element, options) => {
    if (!name.startsWith("ef-")) define(name, element, options);
  };
}
