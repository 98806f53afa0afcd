import assert from "node:assert/strict";
import test from "node:test";
import { fieldsAt, valuesAt, type Schema } from "../src/ui/schema_fields.ts";

const SCHEMA: Schema = {
  properties: {
    layers: { type: "array", items: { $ref: "#/$defs/Layer" } },
    steps: { type: "object", patternProperties: { "^[a-z ]+$": { $ref: "#/$defs/Text" } } },
  },
  $defs: {
    Layer: { oneOf: [{ $ref: "#/$defs/Text" }, { properties: { type: { const: "image" } } }] },
    Text: {
      properties: {
        type: { const: "text" },
        align: { anyOf: [{ enum: ["left", "right"] }, { type: "null" }] },
        bold: { type: "boolean", description: "Heavier." },
      },
    },
  },
};

test("fields of the object at a path are those of all its alternatives", () => {
  assert.deepEqual(
    fieldsAt(SCHEMA, []).map(({ name }) => name),
    ["layers", "steps"],
  );
  const fields = fieldsAt(SCHEMA, ["layers", "3"]);
  assert.deepEqual(fields[2], { name: "bold", detail: "boolean", info: "Heavier." });
  assert.deepEqual(
    fieldsAt(SCHEMA, ["steps", "any name"]).map(({ name }) => name),
    ["type", "align", "bold"],
  );
});

test("values that are listed are offered", () => {
  assert.deepEqual(valuesAt(SCHEMA, ["layers", "0", "type"]), ["text", "image"]);
  assert.deepEqual(valuesAt(SCHEMA, ["layers", "0", "align"]), ["left", "right"]);
  assert.deepEqual(valuesAt(SCHEMA, ["layers", "0", "bold"]), [true, false]);
  assert.deepEqual(valuesAt(SCHEMA, ["nothing"]), []);
});
