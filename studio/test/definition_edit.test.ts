import assert from "node:assert/strict";
import test from "node:test";
import {
  addStep,
  changeStep,
  issuesByStep,
  readDefinition,
  removeStep,
  renameStep,
  toggleNeed,
} from "../src/app/definition_edit.ts";

const TWO = {
  $schema: "x",
  steps: { look: { type: "probe" }, cuts: { type: "detect_scenes", needs: ["look"] } },
};

test("only objects with steps are definitions", () => {
  for (const text of ["", "1", "null", "{}", '{"steps": []}', '{"steps": {"a": 1}}']) {
    assert.equal(readDefinition(text), null);
  }
  assert.deepEqual(readDefinition(JSON.stringify(TWO)), TWO);
});

test("a step whose needs are no list of names is not drawn while it is typed", () => {
  for (const needs of ['"look"', "[1]", "null", "{}"]) {
    assert.equal(readDefinition(`{"steps": {"a": {"type": "probe", "needs": ${needs}}}}`), null);
  }
});

test("a new step gets a free name and needs the chosen one", () => {
  const [once] = addStep(TWO, "probe", null);
  const [twice, key] = addStep(once, "probe", "cuts");
  assert.equal(key, "probe_2");
  assert.deepEqual(twice.steps["probe_2"], { type: "probe", needs: ["cuts"] });
  assert.equal(twice["$schema"], "x");
});

test("who needed a removed or renamed step knows", () => {
  assert.deepEqual(removeStep(TWO, "look").steps, { cuts: { type: "detect_scenes", needs: [] } });
  const renamed = renameStep(TWO, "look", "facts");
  assert.deepEqual(Object.keys(renamed.steps), ["facts", "cuts"]);
  assert.deepEqual(renamed.steps["cuts"]?.needs, ["facts"]);
  assert.equal(renameStep(TWO, "look", "cuts"), TWO);
});

test("steps are connected and disconnected, but never in a circle", () => {
  assert.deepEqual(toggleNeed(TWO, "cuts", "look").steps["cuts"]?.needs, []);
  assert.equal(toggleNeed(TWO, "look", "cuts"), TWO);
  assert.equal(toggleNeed(TWO, "look", "look"), TWO);
});

test("fields of a step are set and removed", () => {
  const set = changeStep(TWO, "look", { with: { a: 1 } });
  assert.deepEqual(set.steps["look"], { type: "probe", with: { a: 1 } });
  assert.deepEqual(changeStep(set, "look", { with: undefined }).steps["look"], { type: "probe" });
});

test("issues belong to their steps", () => {
  const issues = [{ path: "steps.look.type" }, { path: "steps.look" }, { path: "inputs" }];
  const found = issuesByStep(issues);
  assert.deepEqual([found.get("look")?.length, found.get("")?.length], [2, 1]);
});
