import assert from "node:assert/strict";
import { it } from "node:test";
import { themeCss } from "../src/tailwind_theme.ts";
import { withSlashOpacity } from "../src/tailwind_v3.ts";

const added = (classes: string) => withSlashOpacity(classes.split(" ")).join(" ");

it("puts the opacity behind the colour", () => {
  assert.equal(added("p-4 bg-black bg-opacity-50"), "bg-black/50");
  assert.equal(added("bg-red-500 text-white text-opacity-75"), "text-white/75");
  assert.equal(added("bg-[#ff0000] bg-opacity-[0.33]"), "bg-[#ff0000]/[0.33]");
});

it("keeps variants, and takes the plain colour when they have none of their own", () => {
  assert.equal(added("md:bg-blue-500 md:bg-opacity-20"), "md:bg-blue-500/20");
  assert.equal(added("bg-blue-500 hover:bg-opacity-20"), "hover:bg-blue-500/20");
});

it("leaves alone what version 4 knows, and what it has done already", () => {
  assert.equal(added("opacity-50 backdrop-opacity-20 bg-cover bg-black"), "");
  assert.equal(added("bg-black bg-opacity-50 bg-black/50"), "");
});

it("reads the theme of a configuration object", () => {
  const css = themeCss({
    content: ["./index.html"],
    theme: {
      fontFamily: { display: ["Inter", "sans-serif"] },
      extend: {
        colors: { brand: { DEFAULT: "#123456", 500: "red" }, ink: "rgb(0 0 0)" },
        fontSize: { huge: ["10rem", { lineHeight: "1" }] },
        spacing: { 4.5: "1.125rem" },
        animation: { rise: "rise 1s ease-out both" },
        keyframes: { rise: { "0%": { opacity: "0", marginTop: "9px" }, "100%": { opacity: 1 } } },
      },
    },
  });
  assert.deepEqual(css.split("\n"), [
    "@theme {",
    "--animate-rise: rise 1s ease-out both;",
    "--color-brand-500: red;",
    "--color-brand: #123456;",
    "--color-ink: rgb(0 0 0);",
    "--font-display: Inter, sans-serif;",
    "--text-huge: 10rem;",
    "--text-huge--line-height: 1;",
    "--spacing-4\\.5: 1.125rem;",
    "@keyframes rise { 0% { opacity: 0; margin-top: 9px; } 100% { opacity: 1; } }",
    "}",
  ]);
});

it("finds no theme where there is none", () => {
  for (const config of [null, {}, { theme: {} }, { darkMode: "class" }]) {
    assert.equal(themeCss(config), "");
  }
});
