import assert from "node:assert/strict";
import { describe, it } from "node:test";
import {
  lengthOf,
  normaliseCaptions,
  parseCaptions,
  UnreadableCaptions,
} from "../src/captions/model.ts";
import { captionsAt, changesMs } from "../src/captions/moment.ts";

const SECONDS = {
  segments: [
    { start: 0.5, end: 2, text: "Hello big world" },
    { start: 2.5, end: 3.2, text: "Bye" },
  ],
  word_segments: [
    { start: 0.6, end: 0.9, text: " Hello" },
    { start: 1.0, end: 1.4, text: " big" },
    { start: 1.4, end: 1.9, text: " world" },
    { start: 2.5, end: 3.2, text: " Bye" },
  ],
};

function inMilliseconds(data: typeof SECONDS): unknown {
  const scale = (cue: { start: number; end: number; text: string }) => ({
    ...cue,
    start: Math.round(cue.start * 1000),
    end: Math.round(cue.end * 1000),
  });
  return {
    segments: data.segments.map(scale),
    word_segments: data.word_segments.map(scale),
  };
}

const nested = {
  segments: [
    {
      start: 500,
      end: 2000,
      text: "Hello big world",
      words: [
        { word: "Hello", start: 600, end: 900 },
        { word: "big", start: 1000, end: 1400 },
        { word: "world", start: 1400, end: 1900 },
      ],
    },
    { start: 2500, end: 3200, text: "Bye", words: [{ word: "Bye", start: 2500, end: 3200 }] },
  ],
};

describe("captions data", () => {
  it("means the same in seconds, in milliseconds and with words inside segments", () => {
    const expected = normaliseCaptions(SECONDS, null);
    assert.equal(expected.words[2]?.startMs, 1400);
    assert.equal(lengthOf(expected), 3200);
    assert.deepEqual(normaliseCaptions(inMilliseconds(SECONDS), null), expected);
    assert.deepEqual(normaliseCaptions(nested, null), expected);
  });

  it("recognizes milliseconds by the length of the film where the numbers alone do not", () => {
    const data = { segments: [{ start: 100.5, end: 900.5, text: "short" }] };
    assert.equal(lengthOf(normaliseCaptions(data, null)), 900_500);
    assert.equal(lengthOf(normaliseCaptions(data, 5000)), 900.5);
  });

  it("makes sentences when only words are given", () => {
    const words = [
      { start: 0, end: 0.4, text: "One" },
      { start: 0.5, end: 0.9, text: "two." },
      { start: 1.0, end: 1.4, text: "Three" },
      { start: 2.9, end: 3.4, text: "four" },
    ];
    assert.deepEqual(
      normaliseCaptions({ word_segments: words }, null).segments.map((segment) => segment.text),
      ["One two.", "Three", "four"],
    );
  });

  it("leaves out what has no time", () => {
    const data = { segments: [{ text: "nowhere" }, { start: 1, end: 2, text: "here" }] };
    assert.deepEqual(
      normaliseCaptions(data, null).segments.map((segment) => segment.text),
      ["here"],
    );
  });

  it("reads WebVTT and SubRip", () => {
    const vtt =
      "WEBVTT\n\nNOTE by hand\n\nintro\n00:01.000 --> 00:02.500 align:start\n<v Ann>Hi &amp; <b>bye</b>\nthere\n\n01:00:00.000 --> 01:00:01.000\nlate\n";
    assert.deepEqual(parseCaptions(vtt, null), {
      segments: [
        { startMs: 1000, endMs: 2500, text: "Hi & bye\nthere" },
        { startMs: 3_600_000, endMs: 3_601_000, text: "late" },
      ],
      words: [],
    });
    const srt =
      "1\r\n00:00:00,500 --> 00:00:01,500\r\nFirst\r\n\r\n2\r\n00:00:02,000 --> 00:00:03,000\r\n{\\an8}<i>Second</i>\r\n";
    assert.deepEqual(
      parseCaptions(srt, null).segments.map((cue) => [cue.startMs, cue.endMs, cue.text]),
      [
        [500, 1500, "First"],
        [2000, 3000, "Second"],
      ],
    );
  });

  it("says what is wrong with anything else", () => {
    for (const text of ["just words", "{", '{"lines": []}']) {
      assert.throws(() => parseCaptions(text, null), UnreadableCaptions, text);
    }
  });
});

describe("the moment", () => {
  const captions = normaliseCaptions(SECONDS, null);
  const at = (timeMs: number) => {
    const { beforeText, activeText, afterText } = captionsAt(captions, timeMs);
    return [beforeText, activeText, afterText];
  };

  it("shows the words around the active one", () => {
    assert.deepEqual(at(700), ["", "Hello", " big world"]);
    assert.deepEqual(at(1000), ["Hello ", "big", " world"]);
    assert.deepEqual(at(1400), ["Hello big ", "world", ""]);
  });

  it("has all words to come before the first, all words said in a later gap", () => {
    assert.deepEqual(at(550), ["", "", "Hello big world"]);
    assert.deepEqual(at(950), ["Hello big world", "", ""]);
    assert.deepEqual(at(1950), ["Hello big world", "", ""]);
  });

  it("shows nothing between segments and after the end", () => {
    for (const timeMs of [0, 2000, 2400, 3200, 9999]) assert.deepEqual(at(timeMs), ["", "", ""]);
    assert.equal(captionsAt(captions, 2200).segmentText, "");
  });

  it("numbers words through all segments", () => {
    assert.equal(captionsAt(captions, 2600).wordIndex, 3);
    assert.equal(captionsAt(captions, 2600).segmentText, "Bye");
    assert.equal(captionsAt(captions, 2200).wordIndex, -1);
  });

  it("joins without spaces where the script has none", () => {
    const japanese = normaliseCaptions(
      {
        segments: [{ start: 0, end: 2, text: "今日は" }],
        word_segments: [
          { start: 0, end: 1, text: "今日" },
          { start: 1, end: 2, text: "は" },
        ],
      },
      null,
    );
    assert.equal(captionsAt(japanese, 500).afterText, "は");
  });

  it("knows when something changes", () => {
    assert.deepEqual(changesMs(captions), [500, 600, 900, 1000, 1400, 1900, 2000, 2500, 3200]);
  });
});
