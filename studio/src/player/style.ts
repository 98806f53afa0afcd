/** The look of the player. A sheet of its own, so that no policy of the page refuses it. */

export const STYLE = `
:host { display: block; max-width: 100%; color: #fff; font: 14px/1.4 system-ui, sans-serif; }
:host([hidden]), [hidden] { display: none !important; }
:host(:focus-visible) { outline: 2px solid #ff9a52; outline-offset: 2px; }
.player { position: relative; display: flex; flex-direction: column; height: 100%; background: #000; }
video { display: block; width: 100%; min-height: 0; flex: 1; background: #000; }
.failure { position: absolute; inset: 0 0 auto; margin: 0; padding: 12px; background: #7a1a14; }
.bar { container-type: inline-size; display: flex; flex-wrap: wrap; align-items: center; gap: 8px;
  padding: 6px 8px; background: #14171d; }
button { min-width: 36px; height: 36px; padding: 0 6px; border: 0; border-radius: 6px;
  background: none; color: inherit; font: inherit; cursor: pointer; }
button:hover { background: #2a303b; }
button:focus-visible, .seek:focus-visible { outline: 2px solid #ff9a52; }
button[aria-pressed="true"] { color: #ff9a52; }
.play::before { content: "\\25B6\\FE0E"; }
.play.playing::before { content: "\\2759\\2759"; }
.mute::before { content: "\\266A"; }
.mute[aria-pressed="true"] { text-decoration: line-through; }
.full::before { content: "\\26F6"; }
.scrub { position: relative; flex: 1; min-width: 40px; }
.seek { width: 100%; margin: 0; accent-color: #ff9a52; position: relative; }
.wave { display: block; width: 100%; height: 32px; }
.preview { position: absolute; bottom: 100%; transform: translateX(-50%); padding: 4px;
  border-radius: 6px; background: #14171d; text-align: center; pointer-events: none; }
.preview canvas { display: block; }
.time { white-space: nowrap; font-variant-numeric: tabular-nums; }
/* Beside the buttons the slider of a narrow player would be too short to be of use. */
@container (max-width: 480px) {
  .scrub { order: -1; flex-basis: 100%; }
  .time { flex: 1; }
}
`;
