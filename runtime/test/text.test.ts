import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { seededRandom } from "../src/random.ts";
import { parseEasing } from "../src/text/easing.ts";
import { countUnits, splitText, type Piece } from "../src/text/split.ts";
import { seedOf, staggerOffsetMs } from "../src/text/stagger.ts";

const textsOf = (pieces: Piece[]) => pieces.map((piece) => piece.text);
const linear = (progress: number) => progress;

describe("splitting", () => {
  it("keeps punctuation with its word and whitespace apart", () => {
    const pieces = splitText('  Hello, "big" world!  ', "word");
    assert.deepEqual(textsOf(pieces), ["Hello,", " ", '"big"', " ", "world!"]);
    assert.deepEqual(
      pieces.map((piece) => piece.index),
      [0, 0, 1, 1, 2],
    );
    assert.equal(countUnits(pieces), 3);
  });

  it("keeps what one would call a word in one piece", () => {
    assert.deepEqual(textsOf(splitText("don't pay $9.99", "word")), [
      "don't",
      " ",
      "pay",
      " ",
      "$9.99",
    ]);
    assert.deepEqual(textsOf(splitText("🎉", "word")), ["🎉"]);
  });

  it("finds words where no spaces are written", () => {
    const pieces = splitText("今日は良い天気。", "word");
    assert.ok(countUnits(pieces) > 1);
    assert.equal(textsOf(pieces).join(""), "今日は良い天気。");
  });

  it("splits into what readers see as one character, and remembers the word", () => {
    const pieces = splitText("né 👩‍👩‍👧!", "char");
    assert.deepEqual(textsOf(pieces), ["n", "é", " ", "👩‍👩‍👧", "!"]);
    assert.deepEqual(
      pieces.map((piece) => piece.index),
      [0, 1, 1, 2, 3],
    );
    assert.deepEqual(
      pieces.map((piece) => piece.wordIndex),
      [0, 0, 0, 1, 1],
    );
  });

  it("splits lines at newlines only, without the indentation of the source", () => {
    const pieces = splitText("\n   One two\n\n   three\n ", "line");
    assert.deepEqual(textsOf(pieces), ["One two", "\n", "three"]);
    assert.equal(countUnits(pieces), 2);
    assert.deepEqual(
      pieces.map((piece) => piece.wordIndex),
      [0, 0, 1],
    );
  });

  it("finds nothing in nothing", () => {
    for (const split of ["word", "char", "line"] as const) {
      assert.deepEqual(splitText(" \n ", split), []);
    }
  });

  it("splits plain text as it splits any other", () => {
    const random = seededRandom(1);
    const pick = (from: string) => from[Math.floor(random() * from.length)] ?? "";
    const shapes = ["ab1 ", "ab1 .,", "aB9 \n\t.,:;!?", "a1 .,:;!?'\"-_$%@/"];
    for (let round = 0; round < 1000; round += 1) {
      const shape = shapes[round % shapes.length] ?? "";
      const text = Array.from({ length: 1 + (round % 12) }, () => pick(shape))
        .join("")
        .trim();
      if (text === "") continue;
      // With this word, the whole text is split by the rules of Unicode.
      const whole = textsOf(splitText(`${text} é`, "word"));
      assert.deepEqual(textsOf(splitText(text, "word")), whole.slice(0, -2), JSON.stringify(text));
      const characters = [...new Intl.Segmenter("en").segment(text.replaceAll(/\s/g, ""))];
      assert.deepEqual(
        textsOf(splitText(text, "char").filter((each) => !each.isSpace)),
        characters.map(({ segment }) => segment),
      );
    }
  });

  it("gives back the whole text", () => {
    const text = "A quick—brown fox: 3/4 done (really)…";
    assert.equal(textsOf(splitText(text, "word")).join(""), text);
    assert.equal(textsOf(splitText(text, "char")).join(""), text);
  });
});

describe("stagger", () => {
  const offsets = (count: number, easing: string) =>
    Array.from({ length: count }, (_, index) =>
      staggerOffsetMs(index, count, {
        staggerMs: 100,
        easing: parseEasing(easing) ?? assert.fail(easing),
      }),
    );

  it("spaces four words evenly", () => {
    assert.deepEqual(offsets(4, "linear"), [0, 100, 200, 300]);
  });

  it("bends the row but keeps its ends", () => {
    const bent = offsets(5, "ease-in");
    assert.equal(bent[0], 0);
    assert.equal(bent[4], 400);
    assert.ok((bent[1] ?? 0) < 100 && (bent[2] ?? 0) < 200);
  });

  it("does not delay a single unit", () => {
    assert.equal(staggerOffsetMs(0, 1, { staggerMs: 100, easing: linear }), 0);
  });

  it("seeds by the index", () => {
    assert.equal(seedOf(0), 0);
    assert.equal(seedOf(1), 153 / 233);
    assert.equal(seedOf(7), 139 / 233);
    assert.ok(seedOf(100) >= 0 && seedOf(100) < 1);
  });
});

describe("easing", () => {
  const at = (text: string, progress: number) =>
    (parseEasing(text) ?? assert.fail(`${text} is an easing`))(progress);
  const near = (actual: number, expected: number) =>
    assert.ok(Math.abs(actual - expected) < 1e-4, `${actual} is not ${expected}`);

  it("knows the curves of CSS", () => {
    near(at("ease", 0.5), 0.8024);
    near(at("ease-in", 0.5), 0.3154);
    near(at("ease-out", 0.5), 0.6846);
    near(at("ease-in-out", 0.25), 0.1291);
    near(at("cubic-bezier(0.68, -0.55, 0.27, 1.55)", 0.29504), -0.0544);
    assert.equal(at("ease", 0), 0);
    assert.equal(at("ease", 1), 1);
  });

  it("knows steps", () => {
    assert.equal(at("steps(4)", 0.3), 0.25);
    assert.equal(at("steps(4, start)", 0.3), 0.5);
    assert.equal(at("steps(3, jump-none)", 0.5), 0.5);
    assert.equal(at("steps(2, jump-both)", 0.6), 2 / 3);
    assert.equal(at("step-start", 0), 1);
    assert.equal(at("step-end", 0.99), 0);
    assert.equal(at("steps(4)", 1), 1);
  });

  it("knows linear() with and without places", () => {
    near(at("linear(0, 0.5, 1)", 0.25), 0.25);
    near(at("linear(0, 0.25 75%, 1)", 0.75), 0.25);
    near(at("linear(0, 0.25 75%, 1)", 0.875), 0.625);
    near(at("linear(0, 1 20% 60%, 0)", 0.5), 1);
  });

  it("refuses what is no easing", () => {
    for (const text of ["", "bounce", "cubic-bezier(2, 0, 0, 1)", "steps(0)", "linear(1)"]) {
      assert.equal(parseEasing(text), null, text);
    }
  });
});
