/** Completes fields and values in JSON by a JSON Schema. */

import { jsonLanguage } from "@codemirror/lang-json";
import { syntaxTree } from "@codemirror/language";
import type { EditorState, Extension } from "@codemirror/state";
import { fieldsAt, valuesAt, type Schema } from "./schema_fields.ts";

type Node = ReturnType<ReturnType<typeof syntaxTree>["resolveInner"]>;
interface Context {
  state: EditorState;
  pos: number;
  explicit: boolean;
}

/** The schema is loaded with the first completion. */
export function jsonCompletion(address: string): Extension {
  let schema: Promise<Schema | null> | null = null;
  const load = async (): Promise<Schema | null> => {
    const response = await fetch(address).catch(() => null);
    return response?.ok ? ((await response.json()) as Schema) : null;
  };
  const complete = async ({ state, pos, explicit }: Context) => {
    const root = await (schema ??= load());
    if (root === null) return null;
    const node = syntaxTree(state).resolveInner(pos, -1);
    const isName = node.name === "PropertyName" || node.name === "Object";
    if (node.name === "Object" && !explicit) return null;
    if (isName) {
      const object = node.name === "Object" ? node : node.parent?.parent;
      if (object?.name !== "Object") return null;
      const { from, to } = node.name === "Object" ? { from: pos, to: pos } : node;
      const hasColon = /^\s*:/.test(state.sliceDoc(to, to + 20));
      return {
        from,
        to,
        options: fieldsAt(root, pathOf(state, object)).map(({ name, detail, info }) => ({
          label: JSON.stringify(name),
          apply: JSON.stringify(name) + (hasColon ? "" : ": "),
          detail,
          info: info || undefined,
          type: "property",
        })),
      };
    }
    const isValue = ["String", "Property", "True", "False", "Number", "⚠"].includes(node.name);
    const property = node.name === "Property" ? node : node.parent;
    if (!isValue || property?.name !== "Property") return null;
    const values = valuesAt(root, pathOf(state, property));
    const from = node.name === "String" ? node.from : pos;
    const to = node.name === "String" ? node.to : pos;
    return { from, to, options: values.map((value) => ({ label: JSON.stringify(value) })) };
  };
  return jsonLanguage.data.of({ autocomplete: complete });
}

/** The names and numbers that lead to a node. */
function pathOf(state: EditorState, start: Node): string[] {
  const path: string[] = [];
  for (let node: Node | null = start; node?.parent; node = node.parent) {
    if (node.name === "Property") {
      const name = node.getChild("PropertyName");
      if (name) path.unshift(nameOf(state.sliceDoc(name.from, name.to)));
    } else if (node.parent.name === "Array") {
      let number = 0;
      for (let before = node.prevSibling; before; before = before.prevSibling) {
        if (!["[", ","].includes(before.name)) number += 1;
      }
      path.unshift(String(number));
    }
  }
  return path;
}

function nameOf(quoted: string): string {
  try {
    return String(JSON.parse(quoted));
  } catch {
    return quoted.slice(1, -1);
  }
}
