/** Completes fields and values in JSON by a JSON Schema. */

import { jsonLanguage } from "@codemirror/lang-json";
import { ensureSyntaxTree, syntaxTree } from "@codemirror/language";
import type { EditorState, Extension } from "@codemirror/state";
import type { EditorView } from "@codemirror/view";
import { fieldsAt, valuesAt, type Schema } from "./schema_fields.ts";

type Node = ReturnType<ReturnType<typeof syntaxTree>["resolveInner"]>;
const MAX_WORD = 200;
const PARSE_MS = 500;

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
    if (root === null) {
      schema = null;
      return null;
    }
    const options = optionsAt(root, state, pos, explicit);
    return options && options.length > 0 ? { from: startOfWord(state, pos), options } : null;
  };
  return jsonLanguage.data.of({ autocomplete: complete });
}

function optionsAt(root: Schema, state: EditorState, pos: number, explicit: boolean) {
  // On a busy machine the editor has not parsed the text yet.
  const tree = ensureSyntaxTree(state, state.doc.length, PARSE_MS) ?? syntaxTree(state);
  const node = tree.resolveInner(pos, -1);
  if (node.name === "PropertyName" || node.name === "Object") {
    if (node.name === "Object" && !explicit) return null;
    const object = node.name === "Object" ? node : node.parent?.parent;
    if (object?.name !== "Object") return null;
    return fieldsAt(root, pathOf(state, object)).map(({ name, detail, info }) => ({
      label: name,
      apply: insertion(JSON.stringify(name), ": "),
      detail,
      info: info || undefined,
      type: "property",
    }));
  }
  const isValue = ["String", "Property", "True", "False", "Number", "Array", "⚠"].includes(
    node.name,
  );
  if (!isValue) return null;
  const path = valuePath(state, node);
  if (path === null) return null;
  return valuesAt(root, path).map((value) => ({
    label: typeof value === "string" ? value : JSON.stringify(value),
    apply: insertion(JSON.stringify(value), ""),
  }));
}

/** The path of the value that is written at a node; null if it is neither of a field nor a list. */
function valuePath(state: EditorState, node: Node): string[] | null {
  if (node.name === "Property") return pathOf(state, node);
  if (node.name === "Array") return [...pathOf(state, node), "0"];
  if (node.parent?.name === "Property") return pathOf(state, node.parent);
  return node.parent?.name === "Array" ? pathOf(state, node) : null;
}

/** Where the letters begin that options are compared with: behind the quote, if there is one. */
function startOfWord(state: EditorState, pos: number): number {
  const before = state.sliceDoc(Math.max(0, pos - MAX_WORD), pos);
  return pos - (/[\w$.+-]*$/.exec(before)?.[0].length ?? 0);
}

/**
 * Replaces the letters and the quotes around them, if there are some. The options are compared with
 * the letters alone: with the two quotes that the editor writes for one, no option would be left.
 */
function insertion(text: string, behind: string) {
  return (view: EditorView, _: unknown, from: number, to: number): void => {
    const { doc } = view.state;
    const start = doc.sliceString(from - 1, from) === '"' ? from - 1 : from;
    const rest = doc.sliceString(to, to + MAX_WORD);
    const end = to + (start < from ? (/^[^"\n]*"/.exec(rest)?.[0].length ?? 0) : 0);
    const hasColon = /^\s*:/.test(doc.sliceString(end, end + MAX_WORD));
    const insert = text + (hasColon ? "" : behind);
    view.dispatch({
      changes: { from: start, to: end, insert },
      selection: { anchor: start + insert.length },
      userEvent: "input.complete",
    });
  };
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
