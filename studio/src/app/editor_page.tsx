/** The page on which a composition is written: its text, a frame of it, and what is done with it. */

import type { ComponentChildren, JSX } from "preact";
import type { Action } from "../lib/actions.ts";
import type { Problem } from "../lib/api.ts";
import { Editor } from "../ui/editor.tsx";
import { Page, ProblemNote } from "../ui/parts.tsx";
import { FramePreview, marksOf, type Drawn } from "./frame_preview.tsx";

interface Properties {
  title: string;
  /** Before the buttons that every such page has. */
  choices?: ComponentChildren;
  startAgain: () => void;
  /** What the text is written for: a film is made, or a template saved. */
  main: { label: string; action: Action; work: () => Promise<void> };
  /** Why the service refused that. */
  refused: Problem | null;
  editor: { label: string; language: "html" | "json"; schema?: string };
  text: string;
  onText: (text: string) => void;
  drawn: Drawn;
  /** What is wrong with the text. */
  wrong: Problem | null;
  durationS?: number | undefined;
  /** Below the picture. */
  children?: ComponentChildren;
}

export function EditorPage(properties: Properties): JSX.Element {
  const { title, choices, startAgain, main, refused, editor, text, onText } = properties;
  const { drawn, wrong, durationS, children } = properties;
  return (
    <Page
      title={title}
      actions={
        <>
          {choices}
          <button type="button" onClick={startAgain}>
            Start again
          </button>
          <button
            type="button"
            class="primary"
            disabled={main.action.isRunning}
            onClick={() => main.action.run(main.work)}
          >
            {main.label}
          </button>
        </>
      }
    >
      <ProblemNote problem={refused} />
      <div class="split">
        <Editor
          {...editor}
          value={text}
          marks={marksOf(wrong ?? refused, text)}
          onChange={onText}
        />
        <FramePreview of={drawn} durationS={durationS} issues={wrong}>
          {children}
        </FramePreview>
      </div>
    </Page>
  );
}
