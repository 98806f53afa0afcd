/** CodeMirror with the settings of the studio. */

import { html } from "@codemirror/lang-html";
import { ensureSyntaxTree, HighlightStyle, syntaxHighlighting } from "@codemirror/language";
import { json } from "@codemirror/lang-json";
import { forceLinting, linter, lintGutter, type Diagnostic } from "@codemirror/lint";
import { Annotation, EditorState, StateEffect } from "@codemirror/state";
import { basicSetup, EditorView } from "codemirror";
import { tags } from "@lezer/highlight";
import { VOCABULARY } from "../../../runtime/src/elements/vocabulary.ts";
import type { Mark } from "./editor.tsx";
import { jsonCompletion } from "./json_completion.ts";

export interface EditorHandle {
  set: (value: string) => void;
  mark: (marks: readonly Mark[]) => void;
  close: () => void;
}

/**
 * The page has set the text, and knows it. Telling it would let two changes that follow each other
 * closely replace one another without end.
 */
const SET_BY_PAGE = Annotation.define<true>();
/** The marks of the service have changed. */
const MARKED = StateEffect.define<null>();

const MAX_PARSE_MS = 100;

const THEME = EditorView.theme({
  "&": {
    height: "100%",
    fontSize: "14px",
    backgroundColor: "var(--surface)",
    color: "var(--text)",
  },
  // The page outlines the whole editor; this one would be dark on dark.
  "&.cm-focused": { outline: "none" },
  ".cm-scroller": { fontFamily: "var(--mono)" },
  ".cm-gutters": {
    backgroundColor: "var(--raised)",
    color: "var(--quiet)",
    border: "none",
  },
  ".cm-content": { caretColor: "var(--text)" },
  ".cm-cursor": { borderLeftColor: "var(--text)" },
  ".cm-activeLine, .cm-activeLineGutter": {
    backgroundColor: "color-mix(in srgb, var(--accent) 8%, transparent)",
  },
  "&.cm-focused .cm-selectionBackground, .cm-selectionBackground": {
    backgroundColor: "color-mix(in srgb, var(--accent) 30%, transparent)",
  },
  ".cm-tooltip": {
    backgroundColor: "var(--surface)",
    color: "var(--text)",
    border: "1px solid var(--line)",
  },
});

/** Our elements, for completion. */
const EXTRA_TAGS = Object.fromEntries(
  Object.entries(VOCABULARY).map(([name, { attributes, words }]) => [
    name,
    {
      attrs: Object.fromEntries(attributes.map((each) => [each, words?.[each] ?? null])),
      globalAttrs: true,
    },
  ]),
);

const COLOURS = HighlightStyle.define([
  { tag: [tags.string, tags.attributeValue], color: "var(--good)" },
  { tag: [tags.number, tags.bool, tags.null, tags.unit, tags.color], color: "var(--busy)" },
  { tag: [tags.propertyName, tags.attributeName], color: "var(--text)" },
  { tag: [tags.tagName, tags.keyword, tags.definitionKeyword], color: "var(--accent)" },
  { tag: [tags.comment, tags.bracket, tags.angleBracket], color: "var(--quiet)" },
]);

export function openEditor(
  root: ShadowRoot,
  {
    language,
    label,
    value,
    schema,
  }: { language: "html" | "json"; label: string; value: string; schema: string | undefined },
  onChange: (value: string) => void,
): EditorHandle {
  let known: readonly Mark[] = [];
  const extensions = [
    basicSetup,
    language === "json" ? json() : html({ extraTags: EXTRA_TAGS }),
    // One source for both: the marks of the service must not replace those of the editor.
    linter(
      (view) => [
        ...(language === "json" ? jsonErrors(view.state) : []),
        ...known.map((each) => at(view, each)),
      ],
      {
        needsRefresh: ({ transactions }) =>
          transactions.some(({ effects }) => effects.some((each) => each.is(MARKED))),
      },
    ),
    schema ? jsonCompletion(schema) : [],
    lintGutter(),
    syntaxHighlighting(COLOURS),
    THEME,
    EditorView.lineWrapping,
    EditorView.contentAttributes.of({ "aria-label": label }),
    EditorView.updateListener.of((update) => {
      const isOwn = update.transactions.some((each) => each.annotation(SET_BY_PAGE));
      if (update.docChanged && !isOwn) onChange(update.state.doc.toString());
    }),
  ];
  const parent = document.createElement("div");
  parent.style.height = "100%";
  root.append(parent);
  const view = new EditorView({
    parent,
    root,
    state: EditorState.create({ doc: value, extensions }),
  });
  // A long text can be scrolled with the keyboard, too.
  view.scrollDOM.tabIndex = 0;
  return {
    set: (text) => {
      const { doc } = view.state;
      if (text !== doc.toString()) {
        const changes = { from: 0, to: doc.length, insert: text };
        view.dispatch({ changes, annotations: SET_BY_PAGE.of(true) });
      }
    },
    mark: (marks) => {
      if (marks.length === 0 && known.length === 0) return;
      known = marks;
      view.dispatch({ effects: MARKED.of(null) });
      forceLinting(view);
    },
    close: () => view.destroy(),
  };
}

/** Where a text stops being JSON. Browsers do not say the place for all errors; the parser knows. */
function jsonErrors(state: EditorState): Diagnostic[] {
  const { length } = state.doc;
  if (length === 0) return [];
  try {
    JSON.parse(state.doc.toString());
    return [];
  } catch (error) {
    let place = length;
    ensureSyntaxTree(state, length, MAX_PARSE_MS)?.iterate({
      enter: ({ type, from }) => {
        if (type.isError) place = Math.min(place, from);
      },
    });
    const { message } = error as SyntaxError;
    const from = Math.min(place, length - 1);
    return [{ from, to: from + 1, message, severity: "error" }];
  }
}

function at(view: EditorView, { line, message, severity }: Mark): Diagnostic {
  const { doc } = view.state;
  const { from, to } = doc.line(Math.min(Math.max(1, line), doc.lines));
  return { from, to, message, severity };
}
