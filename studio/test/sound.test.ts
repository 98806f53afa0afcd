import assert from "node:assert/strict";
import test from "node:test";
import { framesIn, secondsOf } from "../src/preview/model.ts";
import { Sound } from "../src/preview/sound.ts";

const RATE = { numerator: 30_000, denominator: 1001 };
const LATENCY_S = 0.12;
const END_S = 20;

/** The clock of a sound card: it is set by the test. */
class Card {
  static opened: Card;
  state = "running";
  currentTime = 5;
  outputLatency = LATENCY_S;
  destination = {};
  started: { at: number; from: number; length: number } | null = null;
  source = {
    buffer: null,
    playbackRate: { value: 1 },
    connect: () => undefined,
    disconnect: () => undefined,
    stop: () => undefined,
    start: (at: number, from: number, length: number) => {
      this.started = { at, from, length };
    },
  };
  constructor() {
    Card.opened = this;
  }
  createGain = () => ({ gain: { value: 1 }, connect: () => undefined });
  createBufferSource = () => this.source;
  decodeAudioData = async () => ({});
}

for (const speed of [1, 0.5, 2]) {
  test(`the frame shown is that of the sound heard, at speed ${speed}`, async () => {
    Object.assign(globalThis, {
      AudioContext: Card,
      fetch: async () => ({ ok: true, arrayBuffer: async () => new ArrayBuffer(0) }),
    });
    const sound = new Sound();
    assert.ok(await sound.load("a version"));
    const origin = 45;
    const clock = sound.play(secondsOf(origin, RATE), END_S, speed);
    const card = Card.opened;
    assert.ok(clock !== null && card.started !== null);
    assert.equal(card.started.from + card.started.length, END_S);
    for (let played = 0; played < 3; played += 0.007) {
      card.currentTime = card.started.at + played;
      // What left the context a while ago is heard now; nothing is heard before the first sample.
      const heard = card.started.from + speed * Math.max(0, played - LATENCY_S);
      const shown = origin + framesIn(clock.seconds(), speed, RATE);
      const offset = heard - secondsOf(shown, RATE);
      assert.ok(offset >= -1e-3 && offset < secondsOf(1, RATE) + 1e-3, `${played}: ${offset}`);
    }
  });
}
