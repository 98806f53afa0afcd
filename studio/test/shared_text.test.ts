import assert from "node:assert/strict";
import { test } from "node:test";
import { decodeShared, encodeShared, lineOfPath } from "../src/app/shared_text.ts";

test("a text in a link comes back unchanged", () => {
  const text = '<p title="ä&#x1F525;">🔥 ~ + / =</p>\n';
  assert.equal(decodeShared(`#${encodeShared(text)}`), text);
});

test("a link that was cut off or made up gives no text", () => {
  for (const hash of ["", "#code=abc", "#text=%%", "#text=_w"]) {
    assert.equal(decodeShared(hash), null);
  }
});

test("the line of a value in JSON is found by its path", () => {
  const json = `{
  "duration": 4,
  "layers": [
    {"id": "a", "text": {"text": "x, [y]: \\" {"}},
    {
      "id": "b",
      "position": {"x": 1}
    }
  ]
}`;
  assert.equal(lineOfPath(json, "duration"), 2);
  assert.equal(lineOfPath(json, "layers"), 3);
  assert.equal(lineOfPath(json, "layers.1.position"), 7);
  assert.equal(lineOfPath(json, "layers.1.position.x"), 7);
  // Where the value is missing, the nearest around it.
  assert.equal(lineOfPath(json, "layers.0.file"), 4);
  assert.equal(lineOfPath(json, "layers.0.position"), 4);
  assert.equal(lineOfPath(json, "nothing"), null);
});
