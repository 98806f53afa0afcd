// Shows a page of the benchmark in Remotion: the same markup, styles and script, seeked by frame.
import { Audio, Video } from "@remotion/media";
import React, { useEffect, useLayoutEffect, useRef, useState } from "react";
import { AbsoluteFill, Composition, registerRoot, staticFile, useCurrentFrame } from "remotion";
import { continueRender, delayRender, useVideoConfig } from "remotion";

const COVER = { position: "absolute", left: 0, top: 0, width: "100%", height: "100%" };

function withStaticFiles(html) {
  return html.replace(/ src="([^"]+)"/g, (_, name) => ` src="${staticFile(name)}"`);
}

async function isShown(element) {
  await document.fonts.ready;
  await Promise.all(Array.from(element.querySelectorAll("img"), (image) => image.decode()));
}

function Page({ html, script, video, audio }) {
  const frame = useCurrentFrame();
  const { fps } = useVideoConfig();
  const root = useRef(null);
  const [markup] = useState(() => ({ __html: withStaticFiles(html) }));
  const [handle] = useState(() => delayRender("pictures and fonts"));
  const seek = useRef(null);
  seek.current = () => {
    for (const animation of document.getAnimations()) {
      animation.pause();
      animation.currentTime = (frame / fps) * 1000;
    }
    if (script) window.draw(frame / fps);
  };
  useLayoutEffect(() => {
    if (script) (0, eval)(`{${script}}`);
  }, [script]);
  useLayoutEffect(() => seek.current(), [frame]);
  useEffect(() => {
    isShown(root.current).then(() => {
      // Animations of what was hidden until now have just begun.
      seek.current();
      continueRender(handle);
    });
  }, [handle]);
  return (
    <AbsoluteFill>
      {video && <Video src={staticFile(video)} muted style={{ ...COVER, objectFit: "cover" }} />}
      {audio && <Audio src={staticFile(audio)} />}
      <style>{"* { animation-play-state: paused !important; }"}</style>
      <div ref={root} dangerouslySetInnerHTML={markup} />
    </AbsoluteFill>
  );
}

function measured({ props }) {
  return { width: props.width, height: props.height, fps: props.fps, durationInFrames: props.frames };
}

const EMPTY = { width: 16, height: 16, fps: 30, frames: 1, html: "", script: "", video: "", audio: "" };

registerRoot(() => (
  <Composition id="page" component={Page} defaultProps={EMPTY} calculateMetadata={measured} />
));
